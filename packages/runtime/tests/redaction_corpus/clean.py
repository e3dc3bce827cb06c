"""Texts without a secret that look as if they had one: hashes, ids, pictures, code, and words about secrets."""

from __future__ import annotations

import base64
import string
import uuid
from collections.abc import Iterator
from random import Random
from typing import Final

_PROSE: Final = """\
The token is invalid or has expired.
Unexpected token '<', "<!DOCTYPE "... is not valid JSON
SyntaxError: Unexpected token } in JSON at position 42
An API key is required to call this endpoint; create one in the dashboard.
Pass your API key in the `Authorization` header as a bearer token.
Set the environment variable OPENAI_API_KEY before you start the server.
export OPENAI_API_KEY=<your key>
export GITHUB_TOKEN=$(gh auth token)
Replace YOUR_API_KEY with the key from your account page.
Your password must have at least 12 characters, one digit and one symbol.
Passwords are hashed with argon2id and never stored in plain text.
The secret to good bread is time.
Secrets are read from the vault at start-up and are never logged.
Bearer authentication is described in RFC 6750.
The header `Authorization: Bearer <token>` is required.
Tokens used: 1,532 of 8,192 (prompt 1,204, completion 328).
max_tokens=4096 temperature=0.7 top_p=1
The session token rotates every 15 minutes.
Rotate credentials every 90 days.
This signature covers the whole document.
Signature: def run(self, token: str, *, timeout: float) -> None
nextPageToken: CAUQAA
{"nextPageToken":"CDIQAA","items":[]}
{"pageToken":"abc","pageSize":50}
{"max_tokens":512,"stop":null}
{"usage":{"prompt_tokens":1204,"completion_tokens":328,"total_tokens":1532}}
{"password":null,"token":null}
{"hasPassword":true,"tokenCount":17}
{"type":"password","label":"Password","required":true}
<input type="password" name="password" id="password" autocomplete="current-password">
<label for="password">Password</label>
password: ********
password: [hidden]
Password:
Enter password for jane@example.com:
sudo: a password is required
Permission denied (publickey,password).
git@github.com: Permission denied (publickey).
fatal: Authentication failed for 'https://github.com/acme/app.git/'
ssh-ed25519 is the default key type since OpenSSH 9.5.
Your public key has been saved in id_ed25519.pub
The key fingerprint is SHA256:oN8mTzJ1o7g2cZJc6mHnQvYh3uF7x1y2z3A4b5C6d7E jane@host
Invalid API key provided. You can find your API key at https://platform.example.com/account/api-keys.
Error: secretOrPrivateKey must have a value
KeyError: 'access_token'
TypeError: Cannot read properties of undefined (reading 'token')
AttributeError: 'NoneType' object has no attribute 'secret'
botocore.exceptions.NoCredentialsError: Unable to locate credentials
error: could not find `secret` in `vault`
kubectl create secret generic db --from-literal=user=app
kubectl get secret db -o yaml
secret/db created
NAME   TYPE     DATA   AGE
secretRef:
secretName: tls-prod
imagePullSecrets:
  valueFrom: {secretKeyRef: {name: db, key: password}}
password: "{{ vault_db_password }}"
password: ${DB_PASSWORD}
password=${DB_PASSWORD}
api_key: !vault |
token: ${{ secrets.GITHUB_TOKEN }}
env: { NPM_TOKEN: ${{ secrets.NPM_TOKEN }} }
with: { token: '${{ secrets.GITHUB_TOKEN }}' }
Tokenization splits text into tokens; a token is about four characters.
The tokenizer has a vocabulary of 100,277 tokens.
lexer.next_token() returns the next token.
Token(type='NAME', value='x', line=1)
Access keys have the form of 20 upper-case characters that begin with AKIA.
A GitHub token begins with ghp_, gho_, ghu_, ghs_ or ghr_.
Slack tokens start with xoxb- or xoxp-.
OpenAI keys start with sk- and are shown only once.
Keys that begin with `sk-ant-` are for the Anthropic API.
The prefix `AIza` marks a Google API key.
An npm token looks like npm_ followed by 36 characters.
A JWT has three parts, as in header.payload.signature.
jwt.decode(token, key, algorithms=["RS256"])
eyJ is how a JSON object begins in base64.
-----BEGIN PUBLIC KEY-----
-----BEGIN CERTIFICATE-----
The line `-----BEGIN RSA PRIVATE KEY-----` starts a key in PEM.
See https://example.com/docs/authentication#api-keys for details.
https://example.com/login?next=/account
https://example.com/reset-password?step=2
https://example.com/oauth/authorize?client_id=web&response_type=code&scope=read
https://user@example.com/path
ssh://git@example.com:22/team/app.git
postgres://localhost:5432/app
postgresql+asyncpg://app@db:5432/app
http://127.0.0.1:8080/health
https://cdn.example.com/libs/react@18.2.0/umd/react.production.min.js
pkg:npm/%40angular/core@17.0.1
docker.io/library/postgres:16.2@sha256
npm_config_registry=https://registry.example.org/
npm_package_version=1.4.2
npm warn deprecated inflight@1.0.6: This module is not supported
pypi-publish is a GitHub action.
pip install pypi-attestations==0.0.20
hf_hub_download(repo_id="bert-base-uncased", filename="config.json")
sk-circle-fade-dot and sk-chase-dot are class names of SpinKit.
<div class="sk-cube-grid"><div class="sk-cube sk-cube1"></div></div>
the task-management-system-v2-rollout-2026-plan is late
disk-usage-report-2026-03-01-weekly.pdf
risk-assessment-questionnaire-2026-final-version.docx
mask-image-linear-gradient-rgba-0-0-0-1
flask-sqlalchemy-3.1.1-py3-none-any.whl
ASIA and AKIA are prefixes; ASIAN markets fell by 2 %.
SKU 12345, SK-II essence 230ml
The SG.A and SG.B series were discontinued.
DAPI is a fluorescent stain that binds to DNA.
shpat_ is the prefix of Shopify admin tokens.
hvs. is the prefix of Vault service tokens.
lin_alg = np.linalg.norm(x)
key-value stores such as Redis keep everything in memory
key-0123 of the cabinet was lost
mailto:security@example.com
basic auth is off
Basic usage: run `app --help`.
Cookie preferences can be changed at any time.
This site uses cookies: see our cookie policy.
Set-Cookie is a response header.
document.cookie = name + "=" + value + "; path=/";
Authorization: required
authorization: see below
The authorization: it came late.
x-api-key: string
signature = inspect.signature(function)
signature=sha256 is not supported
sig = Signal(); sig.connect(handler)
credential = DefaultAzureCredential()
credentials = service_account.Credentials.from_service_account_file(path)
token = request.headers.get("X-Token")
token = next(tokens)
token = tokens[index]
token = self._lexer.peek()
token = None
token=None, secret=None
token = previous
password = getpass.getpass("Password: ")
password = os.environ["DB_PASSWORD"]
password = input()
password = form.password.data
secret = settings.SECRET_KEY
secret = Secret(text)
api_key = os.getenv("API_KEY")
api_key=api_key, base_url=base_url
connect(host=host, user=user, password=password)
const token = await getToken();
const { token, secret } = config;
let password = req.body.password;
var apiKey = process.env.API_KEY;
String password = properties.getProperty("db.password");
password := os.Getenv("DB_PASSWORD")
if token == expected: return True
if (password !== confirmation) throw new Error("mismatch");
assert token != "", "token is empty"
def login(user: str, password: str) -> Token:
function verify(token, secret, options) {
interface Props { apiKey: string; secret?: string }
class TokenSecret(Base): pass
PRIVATE_KEY_PATH = "/etc/app/key.pem"
SELECT id, token, secret FROM sessions WHERE user_id = 7
CREATE TABLE users (id int, password varchar(255) NOT NULL, token text)
ALTER USER app WITH PASSWORD :'pw';
UPDATE users SET password = ? WHERE id = ?
[auth] token_ttl = 3600
access_token_expire_minutes = 30
session_token_lifetime: 3600
refresh_token: true
use_auth_token=True
use_auth_token: false
password_min_length=12
secret_manager=vault
secrets = []
tokens = {}
"tokens": []
"secrets": {}
"secret": ""
token: string
password: required
api_key: str | None = None
secret: yes
token: optional
Password: must be changed
passphrase: none
api-key: [in, header]
securitySchemes: {apiKey: {type: apiKey, name: X-API-Key, in: header}}
{"name":"token","in":"query","schema":{"type":"string"}}
{"apiKey":{"type":"string","description":"Your key"}}
{"scopes":["read:secrets","write:tokens"]}
{"error":"invalid_token","error_description":"The access token expired"}
{"error":{"code":"invalid_api_key","message":"Incorrect API key provided"}}
{"token_type":"Bearer","expires_in":3600,"scope":"read"}
{"key":"PROJ-1234","fields":{"summary":"Token refresh fails"}}
{"key":"value","secretName":"db"}
feat(auth): rotate refresh tokens on every use (#1234)
fix: do not log the API key
chore: bump jsonwebtoken from 8.5.1 to 9.0.2
Merge pull request #512 from acme/secret-scanning
src/auth/token.ts:42:17 - error TS2339: Property 'secret' does not exist on type 'Config'.
tests/test_tokens.py::test_a_token_expires PASSED
ok 12 - password is hashed
W1011 12:00:00.000000 1 authentication.go:73] Unable to authenticate the request due to an error
level=info msg="token renewed" ttl=3600
level=warn msg="invalid password" user=jane ip=10.0.0.7
2026-03-01 08:15:22,123 INFO auth: user=jane action=login result=ok
127.0.0.1 - - [01/Mar/2026:08:15:22 +0000] "GET /token HTTP/1.1" 200 512
Host key verification failed.
AAAA records for example.com: 2001:db8::1
MAC address 00:1a:2b:3c:4d:5e, serial S3K7-9QX2-LM40
IBAN DE89 3704 0044 0532 0130 00
+49 30 1234567890
1600 Pennsylvania Avenue NW, Washington, DC 20500
ISBN 978-3-16-148410-0
Order 2026-000123456789 was shipped with 1Z999AA10123456784
geo:52.5200,13.4050;u=35
#ff8800 #0a0b0c #deadbeef
rgb(255, 136, 0) translate3d(0,0,0) cubic-bezier(.4,0,.2,1)
1.2.3-beta.4+build.20260301
v18.19.0 darwin-arm64
x86_64-unknown-linux-gnu
urn:isbn:0451450523
arn:aws:iam::123456789012:role/deploy
arn:aws:s3:::my-bucket/path/to/object
projects/demo-123456/locations/europe-west1/keyRings/main/cryptoKeys/app
/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/rg/providers/Microsoft.KeyVault/vaults/kv
C:\\Users\\jane\\AppData\\Local\\Temp\\token.txt
/srv/jane/.aws/credentials
~/.ssh/id_rsa
node_modules/jsonwebtoken/lib/sign.js
packages/auth/src/tokens/access-token.ts
""".splitlines()

_MINIFIED: Final = (
    '!function(e,t){"object"==typeof exports?module.exports=t():e.A=t()}(this,function(){var n={};return n})',
    "var t=e.token,n=t.type,r=t.value;if(n===T.EOF)return null;s.password=a,s.secret=c",
    "const a=b=>c(d,{...e,token:f,key:g}),h=i=>j.k(l);export{a as A,h as B};",
    ".a{color:red}.b>.c:hover{transform:translateX(-50%)}@media(max-width:600px){.d{display:none}}",
    "t.exports={tokens:a,secrets:n,passwords:r,keys:Object.keys,sig:i}",
)


def _hashes(random: Random) -> Iterator[str]:
    def text(alphabet: str, length: int) -> str:
        return "".join(random.choices(alphabet, k=length))

    hexadecimal, url = "0123456789abcdef", string.ascii_letters + string.digits + "-_"
    for _ in range(4):
        sha1, sha256 = text(hexadecimal, 40), text(hexadecimal, 64)
        yield f"commit {sha1}\nAuthor: Jane Doe <jane@example.com>"
        yield f"{sha1[:7]} Fix the token refresh"
        yield f"index {sha1[:7]}..{sha256[:7]} 100644"
        yield f"sha256:{sha256}"
        yield f"{sha256}  release-1.4.2.tar.gz"
        yield f"md5 {text(hexadecimal, 32)}"
        yield f'{{"etag":"\\"{text(hexadecimal, 32)}\\"","size":1234}}'
        yield f'integrity="sha512-{base64.b64encode(random.randbytes(64)).decode()}"'
        yield f'"resolved": "https://registry.example.org/a/-/a-1.0.0.tgz#{sha1}"'
        yield f"request {uuid.UUID(int=random.getrandbits(128))} took 12 ms"
        yield f'{{"id":"{uuid.UUID(int=random.getrandbits(128))}","parent":null}}'
        picture = base64.b64encode(bytes.fromhex("89504e470d0a1a0a") + random.randbytes(300)).decode()
        yield f"data:image/png;base64,{picture}"
        yield f"https://www.youtube.com/watch?v={text(url, 11)}"
        yield f"https://docs.google.com/document/d/{text(url, 44)}/edit"
        yield f"https://example.com/i/{text(url, 22)}.jpg?w=640&q=75"
        yield f"trace_id={text(hexadecimal, 32)} span_id={text(hexadecimal, 16)}"
        yield f"00-{text(hexadecimal, 32)}-{text(hexadecimal, 16)}-01"
        yield f'{{"cursor":"{base64.b64encode(text(url, 30).encode()).decode()}"}}'
        yield f"0x{text(hexadecimal, 40)} sent 1.5 ETH"
        yield f"/static/js/main.{text(hexadecimal, 8)}.chunk.js"
        yield f"_next/static/{text(url, 21)}/_buildManifest.js"
        yield f"AC{text(hexadecimal, 32)} is the account"
        yield f"Message-ID: <{text(url, 30)}@mail.example.com>"
        yield f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{text(string.ascii_letters, 43)} jane@host"
        yield f"https://res.example.com/image/upload/s--{text(url, 8)}--/v1/{text(url, 20)}"
        yield f"arn:aws:acm:eu-west-1:123456789012:certificate/{uuid.UUID(int=random.getrandbits(128))}"


CLEAN: Final = (*_PROSE, *_MINIFIED, *_hashes(Random(5)))  # the same texts every time
"""Not one of them has a secret in it."""
