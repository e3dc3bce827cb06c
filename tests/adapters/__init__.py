"""What the tests of the adapters share: a corpus, schemas, and models that play the providers."""
