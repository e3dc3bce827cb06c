"""OpenAPI documents (2.0, 3.0, 3.1, 3.2) as operations that can be called.

`documents` bounds a document and follows its references, `swagger` writes 2.0 as 3.0, `schemas` translates schemas,
`bodies` and `access` read bodies, servers and credentials, `reading` puts operations together, and `requests` builds
the request of a call.
"""
