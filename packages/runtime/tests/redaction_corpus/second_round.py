"""Written after the first patterns, which found 0.94 of these and were then widened: other surroundings and values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Final

from redaction_corpus.formats import FORMATS
from redaction_corpus.samples import Sample

_SEED = 1_973
_FRAMES: Final = (
    "Step 3/9 : RUN ./setup --with {} --quiet",
    '<config><entry id="a">{}</entry></config>',
    '[2026-04-02 10:00:01] production.ERROR: request rejected {{"given":"{}","status":401}}',
    "hello team,\nthe new one is {}. please do not share.\nbest, jane",
    '+    "value": "{}",\n-    "value": "",',
    "fetch(`https://api.example.org/q?x=1&auth={}`)",
    "  - name: SERVICE_A\n    value: {}",
    "$ env | sort\nLANG=C.UTF-8\nSERVICE_A={}\nTERM=xterm",
    "id,created,value\n7,2026-04-02,{}\n8,2026-04-03,none",
    "panic: bad credentials ({})\n\ngoroutine 1 [running]:\nmain.main()",
    "wget --header='X-Service: {}' https://example.org/a.zip",
    '"[{{\\"v\\":\\"{}\\"}}]"',
)
_OWN: Final[Mapping[str, Sequence[str]]] = {
    "password": (
        "spring.datasource.password={}",
        "jdbc:postgresql://db:5432/app?user=app&password={}",
        "Server=db;Database=app;User Id=app;Password={};Encrypt=true",
        "<password>{}</password>",
        'variable "db" {{ default = "x" }}\ndb_password = "{}"',
        "machine example.org login jane password {}",
        "mysql -u root --password={} app",
        "sshpass -p {} ssh host",
        "'password' => '{}',",
        "MYSQL_ROOT_PASSWORD: {}",
        "smtp://mailer:{}@smtp.example.org:587",
        "ftp://jane:{}@files.example.org/in",
        'config.password = "{}"',
        "requests.get(url, auth=('jane', '{}'))",
        "{{'username': 'jane', 'password': '{}'}}",
        "passwd={}\nuser=jane",
        '"client_secret" : "{}"',
        "x-auth-token: {}",
        "Proxy-Authorization: Basic {}",
        "https://example.org/cb?code=1&session_token={}",
    ),
    "aws secret": (
        "aws configure set aws_secret_access_key {}",
        "  AWS_SECRET_ACCESS_KEY: {}",
        "spring.cloud.aws.credentials.secret-key={}",
        "<SecretAccessKey>{}</SecretAccessKey>",
    ),
    "azure storage": ("BlobEndpoint=https://a.blob.core.windows.net;AccountKey={}", '"primaryAccessKey": "{}"'),
    "azure signature": ("https://a.queue.core.windows.net/q?se=2026-05-01&sp=r&sv=2022-11-02&sr=q&sig={}",),
    "slack webhook": ("webhook_url: https://hooks.slack.com/services/{}", "<https://hooks.slack.com/services/{}|hook>"),
    "discord webhook": ("POST https://discord.com/api/webhooks/998877665544332211/{}?wait=true 204",),
    "telegram": ("https://api.telegram.org/bot{}/sendMessage?chat_id=7",),
    "jwt": ("set-cookie: sid={}; HttpOnly", "ws://example.org/socket?token={}"),
}
_BY_NAME_ONLY: Final = frozenset({"slack webhook", "discord webhook", "aws secret", "azure storage", "azure signature"})


def second_samples() -> list[Sample]:
    """Every format again, in other surroundings."""
    random = Random(_SEED)  # the same texts every time
    found = []
    for number, (name, make) in enumerate(FORMATS.items()):
        frames = list(_OWN.get(name, ()))
        if name not in _BY_NAME_ONLY and name != "password":
            frames += [_FRAMES[(number * 5 + step * 7) % len(_FRAMES)] for step in range(2)]
        for frame in frames:
            secret = make(random)
            found.append(Sample(name, secret, frame.format(secret)))
    return found


SECOND_CLEAN: Final = tuple(
    r"""
Run `vault kv get secret/app` to see the current version.
vault kv put secret/app password=@pw.txt
The client secret is shown once; copy it to your password manager.
Authentication uses OAuth 2.0 with PKCE, so no client secret is needed.
Create a personal access token with the scopes repo and workflow.
remote: Support for password authentication was removed on August 13, 2021.
ERROR 1045 (28000): Access denied for user 'root'@'localhost' (using password: YES)
FATAL:  password authentication failed for user "app"
pg_hba.conf: host all all 0.0.0.0/0 scram-sha-256
invalid_grant: Token has been expired or revoked.
401 Unauthorized: WWW-Authenticate: Bearer realm="example", error="invalid_token"
WWW-Authenticate: Basic realm="staging"
{"detail":"Authentication credentials were not provided."}
{"message":"Bad credentials","documentation_url":"https://docs.github.com/rest"}
{"tokens":[{"text":"Hello","start":0},{"text":"world","start":6}]}
{"token":{"symbol":"USDC","decimals":6}}
{"tokenId":42,"owner":"0x52908400098527886E0F7030069857D2E4169EE7"}
{"access":"public","secretScanning":"enabled"}
{"passwordChangedAt":"2026-01-04T10:00:00Z","mfa":true}
{"keys":[{"kty":"RSA","use":"sig","alg":"RS256","kid":"2026-01"}]}
{"publicKey":"MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE"}
{"sortKey":"2026-01-04#order","partitionKey":"user#7"}
{"apiVersion":"v1","kind":"Secret","metadata":{"name":"db"}}
{"idempotencyKey":"order-2026-000123"}
{"cacheKey":"users:7:profile:v2"}
{"i18nKey":"auth.password.placeholder"}
{"foreign_key":"user_id","primary_key":"id"}
private_key_id
PRIMARY KEY (id), FOREIGN KEY (user_id) REFERENCES users(id)
KEY `idx_users_email` (`email`)
PARTITION_KEY=user_id
SORT_KEY: created_at
React key prop: <li key={item.id}>{item.name}</li>
onKeyDown={e => e.key === 'Enter' && submit()}
keyboard.press('Enter'); keyCode=13
Object.keys(tokens).forEach(key => delete tokens[key]);
for token in doc: print(token.text, token.pos_)
tokens = tokenizer.encode(text, add_special_tokens=False)
inputs = tokenizer("Hello", return_tensors="pt")
const tokens = marked.lexer(markdown);
token := lexer.Next()
token_count += len(tokens)
self.token = token
this.token = token;
this.password = password;
user.password = await bcrypt.hash(password, 10);
$password = $_POST['password'];
$token = bin2hex(random_bytes(32));
secret_key_base: <%= ENV["SECRET_KEY_BASE"] %>
password: <%= ENV['DB_PASSWORD'] %>
SECRET_KEY = env("SECRET_KEY")
SECRET_KEY = os.environ.get('SECRET_KEY', '')
private val secret: String = BuildConfig.SECRET
@Value("${app.secret}") private String secret;
let secret = std::env::var("SECRET")?;
secret: Option<String>,
password: String,
password: z.string().min(8),
password: { type: String, required: true, select: false },
token: Annotated[str, Depends(oauth2_scheme)]
def get(self, token: str | None = None) -> Secret: ...
raise ValueError("token must not be empty")
assert secret.reveal() == text
expect(token).toBeDefined();
it('rejects a wrong password', async () => {
describe("TokenService", () => {
$ gh secret set NPM_TOKEN
$ openssl rand -hex 32
$ ssh-keygen -t ed25519 -C jane@example.com
$ docker login -u jane --password-stdin
docker run -e POSTGRES_PASSWORD_FILE=/run/secrets/db postgres:16
POSTGRES_PASSWORD_FILE=/run/secrets/db
GOOGLE_APPLICATION_CREDENTIALS=/var/run/key.json
AWS_PROFILE=dev AWS_REGION=eu-west-1
AWS_SHARED_CREDENTIALS_FILE=~/.aws/credentials
SSH_AUTH_SOCK=/run/user/1000/keyring/ssh
##[group]Run actions/create-github-app-token@v1
token: ***
  password: ***
Masked value: [secure]
git log --show-signature -1
gpg: Good signature from "Jane Doe <jane@example.com>"
gpg: using EDDSA key 4AEE18F83AFDEB23
Signed-off-by: Jane Doe <jane@example.com>
Signature verified: true
Signature help: foo(bar: int) -> str
sig: (a, b) -> c
significant=0.05 sigma=1.5
The Secret Garden (1911) by Frances Hodgson Burnett
Victoria's Secret opened a new store.
Passwort vergessen? Geben Sie Ihre E-Mail-Adresse ein.
Mot de passe oublié : cliquez ici.
パスワードを忘れた場合はこちら
cookie: chocolate chip, 12 pieces
Cookie consent: accepted
SameSite=Lax cookies are sent on top-level navigation.
session: Session = Depends(get_session)
sessionStorage.setItem('theme', 'dark')
https://example.org/blog/how-to-store-passwords-in-2026
https://example.org/tokens/0xdac17f958d2ee523a2206206994597c13d831ec7
https://login.example.org/oauth2/v2.0/token
https://github.com/acme/app/settings/secrets/actions
https://hooks.slack.com/ is where webhooks are sent.
https://discord.com/api/webhooks needs an id
s3://bucket/prefix/key-2026-01-04.parquet
gs://bucket/models/token-classifier-v2/
redis://cache:6379/0
amqp://guest@mq:5672
mongodb://db1:27017,db2:27017/app?replicaSet=rs0
npm ERR! code E401 Incorrect or missing password.
npm ERR! code ENEEDAUTH This command requires you to be logged in
pip._vendor.urllib3.exceptions.MaxRetryError: HTTPSConnectionPool(host='index.example.org', port=443)
pypi-keyring 25.2.1
ya29 is a prefix of Google tokens, AIza that of API keys.
dapi, shpat and hvs are prefixes, too.
1//2 is integer division in Python; 1//0 raises ZeroDivisionError.
SG.1 and SG.2 are study groups.
SKELETON SK-01 of the museum
MTA4 is base64 for 108.
NASA.gov. OpenAI.com. Microsoft.Extensions.DependencyInjection.Abstractions
Newtonsoft.Json.Serialization.DefaultContractResolver
org.springframework.security.authentication.UsernamePasswordAuthenticationToken
com.example.auth.TokenSecretKeyProvider
Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36
Content-Security-Policy: default-src 'self'; script-src 'nonce-rAnd0m'
ETag: "33a64df551425fcc55e4d42a148795d9f25f89d4"
If-None-Match: W/"0815"
x-request-id: 7f3c9b2e4d5a
sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=
sha384-oqVuAfXRKap7fdgcCY5uykM6+R9GqQ8K/uxy9rx7HNQlGYl1kPzQho1wx4JwY8wC
QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWnPbdG
bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi
4111 1111 1111 1111 is a test number
UklGRiQAAABXRUJQVlA4IBgAAAAwAQCdASoBAAEAAwA0JaQAA3AA/vuUAAA=
""".strip().splitlines()
)
