"""The rules around a call, one module each: every rule is a stage that can be left out."""
