"""The environment of a server that is started here: what its user's session has for finding things, and no secret.

`SESSION_VARIABLES` lists what every server gets. `inheritEnv` in the settings, for the gateway or for one server, adds
names and patterns. A value of the list that holds a secret, such as a proxy's URL with a password, is not passed on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Final

from toolcrib_runtime.guards.secrets import Scrubber

BASIC_VARIABLES: Final = (
    *("PATH", "HOME", "LOGNAME", "SHELL", "TERM", "USER", "TMPDIR", "TEMP", "TMP"),
    *("LANG", "LANGUAGE", "LC_*", "TZ", "TZDIR"),
)
"""Programs, the home directory, temporary files, and the locale; all that a server gets whose sandbox confines it."""

SESSION_VARIABLES: Final = (
    *BASIC_VARIABLES,
    # Directories of the user, and the session's bus.
    *("XDG_*", "DBUS_SESSION_BUS_ADDRESS"),
    # The display.
    *("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY"),
    # Agents that hold keys.
    *("SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "GPG_TTY", "GNUPGHOME"),
    # Clusters, containers and clouds: where their configuration is and which part of it counts.
    *("KUBECONFIG", "DOCKER_HOST", "DOCKER_CONFIG", "DOCKER_CONTEXT", "DOCKER_CERT_PATH", "DOCKER_TLS_VERIFY"),
    *("CONTAINER_HOST", "AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_CONFIG_FILE"),
    *("AWS_SHARED_CREDENTIALS_FILE", "AWS_CA_BUNDLE", "AWS_SDK_LOAD_CONFIG", "AZURE_CONFIG_DIR", "CLOUDSDK_CONFIG"),
    *("CLOUDSDK_ACTIVE_CONFIG_NAME", "CLOUDSDK_CORE_PROJECT", "GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT"),
    # Proxies.
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "FTP_PROXY", "NO_PROXY"),
    *("http_proxy", "https_proxy", "all_proxy", "ftp_proxy", "no_proxy"),
    # Certificates of authorities.
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
    *("GIT_SSL_CAINFO", "PIP_CERT"),
    # Version managers, toolchains, and what they have downloaded.
    *("NVM_DIR", "NVM_BIN", "FNM_DIR", "FNM_MULTISHELL_PATH", "VOLTA_HOME", "PNPM_HOME", "BUN_INSTALL", "DENO_DIR"),
    *("PYENV_ROOT", "RBENV_ROOT", "ASDF_DIR", "ASDF_DATA_DIR", "MISE_DATA_DIR", "SDKMAN_DIR", "JAVA_HOME"),
    *("GOPATH", "GOROOT", "CARGO_HOME", "RUSTUP_HOME", "UV_CACHE_DIR", "UV_PYTHON_INSTALL_DIR", "UV_TOOL_DIR"),
    *("HOMEBREW_PREFIX", "PLAYWRIGHT_BROWSERS_PATH"),
)
"""What every server gets of our environment, by name or by pattern."""

# Variables that stand for secrets of other servers begin so; a pattern such as `*` does not mean them.
_OURS: Final = "TOOLCRIB_"
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_CREDENTIALS: Final = re.compile(r"(?:\A|//)[^/?#\s]*@")
_SHAPES: Final = Scrubber()


@dataclass(frozen=True, kw_only=True)
class SessionEnvironment:
    """What one server gets of our environment."""

    values: Mapping[str, str] = field(repr=False)
    added: tuple[str, ...] = ()
    """Variables that only the patterns name, which may well be secrets."""
    secret: tuple[str, ...] = ()
    """Variables of the list that are not passed on because their values hold a secret."""


def session_environment(
    environ: Mapping[str, str], inherited: Iterable[str] = (), *, confined: bool = False
) -> SessionEnvironment:
    """What a server gets of `environ`: the list, and what the patterns `inherited` name.

    What is `confined` by a sandbox gets only the basic variables of the list.
    """
    patterns = tuple(inherited)
    listed = BASIC_VARIABLES if confined else SESSION_VARIABLES
    values: dict[str, str] = {}
    added: list[str] = []
    secret: list[str] = []
    for name, value in sorted(environ.items()):
        if not _NAME.fullmatch(name):
            continue  # a function that a shell exported
        if _is_inherited(name, patterns):
            values[name] = value
            added += [] if _is_listed(name, listed) else [name]
        elif _is_listed(name, listed):
            if _holds_secret(name, value):
                secret.append(name)
            else:
                values[name] = value
    return SessionEnvironment(values=values, added=tuple(added), secret=tuple(secret))


def _is_listed(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _is_inherited(name: str, patterns: Iterable[str]) -> bool:
    return _is_listed(name, (each for each in patterns if not name.startswith(_OURS) or each.startswith(_OURS)))


def _holds_secret(name: str, value: str) -> bool:
    if name.lower().endswith("_proxy") and _CREDENTIALS.search(value):
        return True
    return _SHAPES.scrub_text(value) != value
