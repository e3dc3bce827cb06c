"""JSON Schema: canonical form, checking, dialects, validation."""
