"""Tokens that vendors make with a prefix or a mark of their own, by the form that each vendor documents.

Like all shapes these take linear time: each begins with its mark, and nothing behind an open end has to fit.
"""

from __future__ import annotations

import re
from typing import Final

from toolcrib_runtime.guards.secrets.shape import EDGE, Shape, shape

_UUID: Final = "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
_WORD: Final = "[A-Za-z0-9]"
_URL: Final = "[A-Za-z0-9_-]"
_BASE64: Final = "[A-Za-z0-9+/]"
_HEX: Final = "[0-9a-fA-F]"
_LOWER: Final = "[a-z0-9]"
_UPPER: Final = "[A-Z0-9]"
_END: Final = "(?![A-Za-z0-9_-])"

# The beginnings of a token, and what stands behind them.
_CODE: Final = (
    ("ATCTT3 ATSTT3", f"{_URL}{{40,}}(?:={_HEX}*)?"),
    ("ATBB", f"{_WORD}{{28,}}"),
    ("ATTA", f"{_HEX}{{60,}}"),
    ("AKCp", f"{_WORD}{{60,}}"),
    ("cmVmd", f"{_WORD}{{55,}}"),
    ("bkua_", f"{_HEX}{{40}}"),
    ("CCIPAT_ CCIPRJ_", f"{_WORD}{{20,24}}_{_HEX}{{40}}"),
    ("CLOJARS_", f"{_LOWER}{{60}}"),
    ("cio", f"{_WORD}{{32}}{_END}"),
    ("oy2", f"{_LOWER}{{43}}{_END}"),
    ("ddp_ ddw_ ddo_", f"{_WORD}{{36}}"),
    ("HRKU-", f"{_URL}{{36,}}"),
    ("packagist_", f"[a-z]{{3,4}}_{_HEX}{{60,}}"),
    ("perm: perm-", f"{_BASE64}{{4,60}}=*\\.{_BASE64}{{4,60}}=*\\.{_WORD}{{20,}}"),
    ("pul-", f"{_HEX}{{40}}"),
    ("squ_ sqa_ sqp_", f"{_HEX}{{40}}"),
    ("sgp_", f"(?:{_HEX}{{16}}_|local_)?{_WORD}{{40,}}"),
    ("slk_", f"{_HEX}{{64}}"),
    ("vcp_ vci_ vca_ vcr_ vck_", f"{_WORD}{{24,}}"),
    ("nfc_ nfo_ nfu_ nfb_", f"{_WORD}{{30,}}"),
    ("rnd_", f"{_WORD}{{28,}}"),
    ("fm1_ fm2_ fm1a_ fm1r_", f"{_BASE64}{{60,}}=*"),
    ("fo1_", f"{_URL}{{40,}}"),
    ("API-", f"{_UPPER}{{25,32}}{_END}"),
    ("tk-us-", f"{_URL}{{48}}"),
    ("waka_", _UUID),
    ("ico-", f"{_WORD}{{32}}"),
)
_CLOUDS: Final = (
    *((f"dp.{each}.", f"(?:{_URL}{{2,35}}\\.)?{_WORD}{{40,44}}") for each in "pt st ct sa said scim audit".split()),
    ("st.", f"{_HEX}{{24}}\\.{_HEX}{{32,64}}\\.{_HEX}{{32,64}}"),
    ("ops_eyJ", f"{_URL}{{100,}}=*"),
    ("A3-", f"{_UPPER}{{6}}-(?:{_UPPER}{{11}}|{_UPPER}{{6}}-{_UPPER}{{5}})(?:-{_UPPER}{{5}}){{3}}"),
    ("0.", f"{_UUID}\\.{_WORD}{{30}}:{_BASE64}{{22}}=="),
    ("SWMTKN-1- SWMKEY-1-", f"{_BASE64}{{40,50}}(?:-{_LOWER}{{25}})?"),
    ("sha256~", f"{_URL}{{43}}"),
    ("token-", f"{_LOWER}{{5}}:{_LOWER}{{54}}"),
    ("LTAI", f"{_WORD}{{16,24}}{_END}"),
    ("AKID", f"{_WORD}{{32}}{_END}"),
    ("ABSK", f"{_BASE64}{{100,}}=*"),
    ("IQoJb3JpZ2lu", f"{_BASE64}{{100,}}=*"),
    ("amzn.mws.", _UUID),
    ("amzn1.oa2-cs.v1.", f"{_HEX}{{64}}"),
    ("AQVN", f"{_URL}{{35,38}}{_END}"),
    ("t1.", f"{_URL}{{40,400}}=*\\.{_URL}{{86}}=*"),
    ("SCW", f"{_UPPER}{{17}}{_END}"),
    ("v1.0-", f"{_HEX}{{24}}-{_HEX}{{140,150}}"),
    ("AVNS_", f"{_URL}{{19}}"),
    ("pscale_tkn_ pscale_pw_ pscale_oauth_", f"{_URL}{{32,64}}"),
    ("CCDB1_", f"{_WORD}{{22}}_{_WORD}{{40}}"),
    ("mdb_sa_sk_", f"{_URL}{{40}}"),
    ("sb_secret_", f"{_URL}{{22,}}"),
    ("napi_", f"{_LOWER}{{60,}}"),
    ("xau_", f"{_WORD}{{36,}}"),
    ("dbtu_ dbtc_", f"{_URL}{{40,}}"),
    ("pnu_ pnb_", f"{_WORD}{{36}}"),
    ("cflt", f"{_BASE64}{{60}}"),
)
_WATCHING: Final = (
    ("dt0c01. dt0s01. dt0s02. dt0s03. dt0s16.", f"{_UPPER}{{8,24}}\\.{_UPPER}{{64}}"),
    ("eyJrIjoi", f"{_BASE64}{{60,}}=*"),
    ("NRII- NRJS- NRSP- NRAA- NRRA- NRBR- NRIQ-", f"{_URL}{{19,}}"),
    ("hcaik_ hcbik_ hcaic_ hcalk_ hcamk_", f"{_LOWER}{{58}}"),
    ("sdk- api-", _UUID),
    ("apify_api_", f"{_WORD}{{30,}}"),
    ("phx_ phs_ phr_", f"{_WORD}{{40,}}"),
    ("rootly_", f"{_HEX}{{64}}"),
)
_SHOPS: Final = (
    ("sq0atp- sq0csp-", f"{_URL}{{22,43}}"),
    ("EAA", f"{_URL}{{57,}}"),
    ("IGQV IGQW", f"{_URL}{{60,}}"),
    ("access_token$production$ access_token$sandbox$", f"{_LOWER}{{16}}\\${_HEX}{{32}}"),
    ("access-sandbox- access-development- access-production-", _UUID),
    ("duffel_test_ duffel_live_", f"{_URL}{{43}}"),
    ("EZAK EZTK", f"{_WORD}{{54}}"),
    ("FLWSECK- FLWSECK_TEST-", f"{_WORD}{{12,34}}-X"),
    ("shippo_live_ shippo_test_", f"{_HEX}{{40}}"),
    ("pdl_live_ pdl_sdbx_", "(?:apikey|ntfset)_[A-Za-z0-9_]{30,}"),
    ("polar_", f"[a-z]{{2,4}}_{_WORD}{{32,}}"),
    ("p8e-", f"{_LOWER}{{32}}"),
    # With a digit and a capital: the name of a variable may begin so.
    ("live_ test_ sandbox_", f"(?=[A-Za-z]{{0,30}}[0-9])(?=[a-z0-9]{{0,30}}[A-Z]){_WORD}{{30,}}"),
    ("cal_live_", f"{_WORD}{{32}}"),
)
_DOCUMENTS: Final = (
    ("pat", f"{_WORD}{{14}}\\.{_HEX}{{64}}"),
    ("pat-na1- pat-na2- pat-eu1-", _UUID),
    ("pat. sat.", f"{_URL}{{22}}\\.{_HEX}{{24}}\\.{_WORD}{{20}}"),
    ("xkeysib- xsmtpsib-", f"{_HEX}{{64}}-{_WORD}{{16}}"),
    ("CFPAT-", f"{_URL}{{43}}"),
    ("sl.", f"(?:u\\.)?{_URL}{{100,}}"),
    ("fio-u-", f"{_URL}{{64}}"),
    ("dG9rO", f"{_BASE64}{{40,}}=*"),
    ("secret_", f"{_WORD}{{43}}{_END}"),
    ("re_", f"{_WORD}{{8}}_{_WORD}{{24}}"),
    ("tfp_", f"{_URL}{{40,}}"),
    ("rdme_", f"{_LOWER}{{70}}"),
    ("0/ 1/ 2/", f"[0-9]{{10,17}}(?:/[0-9]{{10,17}})?:{_HEX}{{32}}"),
    ("pk_", f"[0-9]{{5,12}}_{_UPPER}{{32}}"),
    ("pk_prod_ pk_test_", f"{_UPPER}{{28}}"),
    ("1000.", f"{_HEX}{{32}}\\.{_HEX}{{32}}"),
    ("nyk_v0_", f"{_WORD}{{64}}"),
    ("KEY0", f"{_UPPER}{{31,32}}_{_WORD}{{22}}"),
    ("zpka_", f"{_LOWER}{{32}}_{_LOWER}{{8}}"),
)
_MODELS: Final = (
    ("nvapi-", f"{_URL}{{60,}}"),
    ("csk-", f"{_LOWER}{{48}}"),
    ("sk_", f"{_HEX}{{48}}{_END}"),
    ("sk_car_", f"{_WORD}{{20,}}"),
    ("jina_", f"{_URL}{{60,}}"),
    ("pcsk_", f"{_WORD}{{5,8}}_{_WORD}{{50,}}"),
    ("tgp_v1_", f"{_URL}{{40,}}"),
    ("tvly-", f"(?:dev-|prod-)?{_URL}{{28,}}"),
    ("fc-", f"{_HEX}{{32}}{_END}"),
    ("lsv2_pt_ lsv2_sk_", f"{_HEX}{{32}}_{_HEX}{{10}}"),
    ("llx-", f"{_WORD}{{44,}}"),
    ("rpa_", f"{_WORD}{{40,}}"),
    ("e2b_", f"{_HEX}{{40}}"),
    ("fw_", f"(?=[A-Za-z]{{0,20}}[0-9]){_WORD}{{22,}}"),
    ("esecret_", f"{_WORD}{{24,}}"),
    ("key_", f"{_HEX}{{100,}}"),
)


def _begun(beginning: str, rest: str) -> Shape:
    # The beginning first, and then what is before it: the engine looks for letters fifty times as fast.
    mark = re.escape(beginning)
    edge = rf"(?:(?<![A-Za-z0-9]{mark})|(?<=%[0-9A-Fa-f]{{2}}{mark})|(?<=\\[nrt]{mark}))"
    return shape(beginning.lower(), pattern=f"{mark}{edge}{rest}")


VENDOR_TOKENS: Final[tuple[Shape, ...]] = (
    *(
        _begun(beginning, rest)
        for group in (_CODE, _CLOUDS, _WATCHING, _SHOPS, _DOCUMENTS, _MODELS)
        for beginnings, rest in group
        for beginning in beginnings.split()
    ),
    # These have their mark further inside.
    shape(".atlasv1.", pattern=rf"{EDGE}{_WORD}{{14}}\.atlasv1\.{_URL}{{60,}}"),
    shape("azdo", pattern=f"{EDGE}{_WORD}{{60,80}}AZDO{_WORD}{{4}}{_END}"),
    shape("jqqj99", pattern=f"{EDGE}{_WORD}{{52}}JQQJ99{_WORD}{{18,40}}"),
    shape("nral", pattern=f"{EDGE}(?:[a-z]{{2}}[0-9]{{2}}xx)?{_HEX}{{30,36}}NRAL{_END}"),
    shape(":apa91b", pattern=f"{EDGE}AAAA{_URL}{{7}}:APA91b{_URL}{{120,}}"),
    shape("aaaaaaaaaaaaaaaaaaaa", pattern=f"{EDGE}A{{20,24}}{_WORD}{{2,60}}%[A-Za-z0-9%]{{20,}}"),
    # A key of PuTTY: behind the number of its lines.
    shape(
        "private-lines:",
        pattern=r"(Private-Lines: [0-9]{1,3}(?:\r?\n|\\[nr]{1,2}))(?:[A-Za-z0-9+/=]{1,64}(?:\r?\n|\\[nr]{1,2}|\Z))+",
        replacement="\\1••••\n",
    ),
)
"""Tokens by the forms of their vendors."""
