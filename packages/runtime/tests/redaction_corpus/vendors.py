"""Made-up tokens in the forms that vendors document, one of each."""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping
from random import Random
from typing import Final

_ALPHABETS: Final = {
    "w": string.ascii_letters + string.digits,
    "u": string.ascii_letters + string.digits + "_-",
    "b": string.ascii_letters + string.digits + "+/",
    "h": "0123456789abcdef",
    "l": string.ascii_lowercase + string.digits,
    "U": string.ascii_uppercase + string.digits,
    "d": string.digits,
}

# What stands in angle brackets is made up: `<w22>` are 22 letters and digits. `|` keeps beginnings apart, so that no
# line looks like a token.
_FORMS: Final = """
atlassian admin: AT|CTT3<u180>=<h8>
atlassian service: AT|STT3<u180>=<h8>
bitbucket: AT|BB<w32>
trello: AT|TA<h76>
artifactory: AK|Cp<w69>
artifactory reference: cm|Vmd<w59>
buildkite: bk|ua_<h40>
circleci: CC|IPAT_<w22>_<h40>
circleci project: CC|IPRJ_<w22>_<h40>
clojars: CLO|JARS_<l60>
crates: c|io<w32>
nuget: oy|2<l43>
deno: dd|p_<w36>
heroku: HR|KU-AA<u58>
packagist: pack|agist_ack_<h68>
jetbrains: pe|rm:<w16>==.<w12>=.<w30>
pulumi: pu|l-<h40>
sonarqube: sq|u_<h40>
sonarqube project: sq|p_<h40>
sourcegraph: sg|p_<h16>_<h40>
sourcegraph local: sg|p_local_<h40>
vercel: vc|p_<w56>
netlify build: nf|b_<w36>
render: rn|d_<w32>
fly: fm|2_<b120>==
fly app: fo|1_<u43>
octopus: AP|I-<U26>
scalingo: tk|-us-<u48>
wakatime: wa|ka_<id>
infracost: ic|o-<w32>
doppler: dp|.pt.<w43>
doppler service: dp|.st.prd.<w43>
doppler cli: dp|.ct.<w43>
infisical: s|t.<h24>.<h32>.<h32>
1password service: op|s_eyJ<w200>
1password: A|3-<U6>-<U11>-<U5>-<U5>-<U5>
bitwarden: 0|.<id>.<w30>:<w22>==
docker swarm: SW|MTKN-1-<l50>-<l25>
openshift: sha|256~<u43>
rancher: tok|en-<l5>:<l54>
alibaba: LT|AI<w20>
tencent: AK|ID<w32>
aws bedrock: AB|SK<b120>=
aws session: IQ|oJb3JpZ2lu<b400>==
aws marketplace: am|zn.mws.<id>
amazon login: am|zn1.oa2-cs.v1.<h64>
yandex: AQ|VN<u35>
yandex iam: t|1.<u150>.<u86>
scaleway: SC|W<U17>
cloudflare origin: v1|.0-<h24>-<h146>
firebase: AA|AA<u7>:APA91b<u134>
aiven: AV|NS_<u19>
planetscale: ps|cale_tkn_<u43>
planetscale password: ps|cale_pw_<u43>
planetscale oauth: ps|cale_oauth_<u43>
cockroachdb: CC|DB1_<w22>_<w40>
mongodb atlas: md|b_sa_sk_<u40>
supabase secret: sb|_secret_<u31>
neon: na|pi_<l64>
xata: xa|u_<w40>
dbt: db|tu_<u44>
prefect: pn|u_<w36>
confluent: cf|lt<b60>
terraform: <w14>.at|lasv1.<u67>
azure devops: <w76>AZ|DO<w4>
azure cask: <w52>JQ|QJ99<w26>
dynatrace: dt|0c01.<U24>.<U64>
grafana old: ey|JrIjoi<w90>=
new relic insert: NR|II-<u32>
new relic browser: NR|JS-<h19>
new relic licence: <h36>NR|AL
honeycomb: hc|aik_<l58>
launchdarkly: sd|k-<id>
apify: ap|ify_api_<w36>
posthog: ph|x_<w43>
rootly: roo|tly_<h64>
square: sq|0atp-<u22>
square secret: sq|0csp-<u43>
square access: EA|AAE<u60>
facebook: EA|A<w180>
instagram: IG|QV<w140>
braintree: access|_token$production$<l16>$<h32>
plaid: acc|ess-sandbox-<id>
duffel: duf|fel_live_<u43>
easypost: EZ|AK<w54>
flutterwave: FLW|SECK-<h32>-X
shippo: ship|po_live_<h40>
paddle: pd|l_live_apikey_<l26>_<w22>_<w3>
polar: pol|ar_oat_<w43>
adobe: p8|e-<l32>
mollie: li|ve_<w34>A9
cal: ca|l_live_<l32>
airtable: pa|t<w14>.<h64>
hubspot: pa|t-na1-<id>
harness: pa|t.<u22>.<h24>.<w20>
brevo: xke|ysib-<h64>-<w16>
contentful: CF|PAT-<u43>
dropbox: s|l.u.<u140>
frame: fi|o-u-<u64>
intercom: dG|9rO<w52>=
notion old: sec|ret_<w43>
resend: r|e_<w8>_<w24>
typeform: tf|p_<u59>
readme: rd|me_<l70>
asana: 1|/<d16>:<h32>
clickup: p|k_<d8>_<U32>
courier: p|k_prod_<U28>
zoho: 100|0.<h32>.<h32>
nylas: ny|k_v0_<w64>
telnyx: KE|Y0<U31>_<w22>
twitter: AAAAAAAAAAA|AAAAAAAAAAA<w12>%2B<w30>%3D<w30>
zuplo: zp|ka_<l32>_<l8>
nvidia: nv|api-<u64>
cerebras: cs|k-<l48>
elevenlabs: s|k_<h48>
cartesia: s|k_car_<w22>
jina: ji|na_<w60>
pinecone: pc|sk_<w6>_<w63>
together: tg|p_v1_<u43>
tavily: tv|ly-dev-<w32>
firecrawl: f|c-<h32>
langsmith: ls|v2_pt_<h32>_<h10>
llamacloud: ll|x-<w48>
runpod: rp|a_<U46>
e2b: e2|b_<h40>
fireworks: f|w_<w20>9<w3>
anyscale: esec|ret_<w28>
runway: ke|y_<h128>
"""


def _made(form: str) -> Callable[[Random], str]:
    literal, *parts = form.replace("|", "").split("<")

    def make(random: Random) -> str:
        made = literal
        for part in parts:
            what, _, rest = part.partition(">")
            made += (_uuid(random) if what == "id" else _some(random, what[0], int(what[1:]))) + rest
        return made

    return make


def _some(random: Random, kind: str, length: int) -> str:
    return "".join(random.choices(_ALPHABETS[kind], k=length))


def _uuid(random: Random) -> str:
    return "-".join(_some(random, "h", length) for length in (8, 4, 4, 4, 12))


VENDORS: Final[Mapping[str, Callable[[Random], str]]] = {
    name: _made(form) for name, _, form in (line.partition(": ") for line in _FORMS.strip().splitlines())
}
"""By name: makes one more token of the form."""
