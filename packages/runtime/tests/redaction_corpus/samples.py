"""Secrets in the surroundings that a tool's result has them in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Final, NamedTuple

from redaction_corpus.formats import FORMATS

_SEED = 11


class Sample(NamedTuple):
    """A text, the secret in it, and which format that has."""

    format: str
    secret: str
    text: str


# Where a token of any format may stand: nothing but its own form tells what it is.
_ANYWHERE: Final = (
    "{}",
    '{{"status":"ok","value":"{}","count":3}}',
    "2026-03-01T08:15:22Z INFO  worker-3 connected with {} after 12 ms",
    "Use `{}` for the staging system, it is valid until Friday.",
    "https://api.example.com/v2/items?page=2&k={}&sort=asc",
    "client = Client('{}', timeout=30)",
    "    value: {}\n    region: eu-west-1",
    "curl -s https://api.example.com/v1/me -u {}:",
    'Traceback (most recent call last):\n  File "app.py", line 7, in <module>\n    login("{}")\nValueError: refused',
    "| name | value |\n|---|---|\n| prod | {} |",
    "export SERVICE={}\nexport PORT=8080",
)
_ASSIGNED: Final = (
    "DB_PASSWORD={}\nDB_HOST=localhost",
    'export API_SECRET="{}"',
    '{{"user":"jane","password":"{}","active":true}}',
    "database:\n  host: db.internal\n  password: {}\n  port: 5432",
    "password = '{}'  # of the test system",
    "psql: error: connection to server failed: password={} host=db",
    "curl -X POST -d 'user=jane&password={}' https://example.com/login",
    'auth: {{ user: "jane", password: "{}" }}',
    "X-Api-Key: {}\r\nAccept: */*",
    'const clientSecret = "{}";',
)
_URLS: Final = (
    "DATABASE_URL=postgres://app:{}@db.internal:5432/app",
    "could not connect to mongodb+srv://app:{}@cluster0.example.net/?retryWrites=true",
    '{{"broker":"amqps://worker:{}@mq.example.com/vhost"}}',
    "redis://:{}@cache:6379/0 timed out",
    "git clone https://jane:{}@git.example.com/team/app.git",
)
_OWN: Final[Mapping[str, Sequence[str]]] = {
    "slack webhook": (
        "https://hooks.slack.com/services/{}",
        '{{"url":"https://hooks.slack.com/services/{}"}}',
        'curl -X POST -d \'{{"text":"hi"}}\' https://hooks.slack.com/services/{}',
    ),
    "discord webhook": (
        "https://discord.com/api/webhooks/1122334455667788990/{}",
        "WEBHOOK=https://discordapp.com/api/webhooks/1122334455667788990/{}",
    ),
    "aws secret": (
        "[default]\naws_access_key_id = EXAMPLE\naws_secret_access_key = {}",
        "AWS_SECRET_ACCESS_KEY={}",
        '{{"AccessKeyId":"EXAMPLE","SecretAccessKey":"{}","Expiration":"2026-01-01T00:00:00Z"}}',
        "aws:\n  secret_access_key: {}",
        "new AWS.S3({{ secretAccessKey: '{}' }})",
    ),
    "azure storage": (
        "DefaultEndpointsProtocol=https;AccountName=files;AccountKey={};EndpointSuffix=core.windows.net",
        '{{"connectionString":"Endpoint=sb://bus.servicebus.windows.net/;SharedAccessKeyName=root;SharedAccessKey={}"}}',
        "AZURE_STORAGE_KEY={}",
    ),
    "azure signature": (
        "https://files.blob.core.windows.net/backup/a.zip?sv=2024-11-04&se=2026-01-01T00%3A00%3A00Z&sr=b&sp=r&sig={}",
        '{{"sas":"?sv=2024-11-04&ss=b&srt=sco&sp=rl&sig={}"}}',
    ),
    "jwt": (
        "Authorization: Bearer {}",
        '{{"access_token":"{}","token_type":"Bearer","expires_in":3600}}',
        "Cookie: session={}; theme=dark",
    ),
    "private key pkcs8": (
        '{{"type":"service_account","project_id":"demo","private_key":"{}","client_email":"a@demo.iam.example.com"}}',
    ),
}
_BY_NAME_ONLY: Final = (
    "slack webhook",
    "discord webhook",
    "aws secret",
    "azure storage",
    "azure signature",
    "password",
)
_FRAMES_PER_FORMAT: Final = 4


def samples(*, seed: int = _SEED) -> list[Sample]:
    """Every format, each in several surroundings."""
    return list(_samples(Random(seed)))  # the same texts every time


def _samples(random: Random) -> Iterator[Sample]:
    for number, (name, make) in enumerate(FORMATS.items()):
        frames = list(_OWN.get(name, ()))
        if name == "password":
            frames += [*_ASSIGNED, *_URLS]
        elif name not in _BY_NAME_ONLY:
            frames += [_ANYWHERE[(number + step * 3) % len(_ANYWHERE)] for step in range(_FRAMES_PER_FORMAT)]
        for frame in frames:
            secret = make(random)
            yield Sample(name, secret, frame.format(secret.replace("\n", "\\n") if "private_key" in frame else secret))
