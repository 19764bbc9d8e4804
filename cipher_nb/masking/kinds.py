"""Secrets that show themselves by their shape or by what stands right before them."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from dataclasses import dataclass

from cipher_nb.masking.values import is_placeholder


@dataclass(frozen=True)
class Kind:
    """A kind of secret.

    `words` say what it is; the name alone up to a colon. Every text with such a secret holds one of `triggers`. Where
    `shape` has a group, the group is the secret and the rest its context. `fits` judges a secret by its value.
    """

    name: str
    words: str
    triggers: tuple[str, ...]
    shape: re.Pattern[str]
    fits: Callable[[str], bool] | None = None


def _kind(name: str, words: str, triggers: str, *shapes: str, fits: Callable[[str], bool] | None = None) -> Kind:
    return Kind(name, words, tuple(triggers.split("|")), re.compile("|".join(shapes)), fits)


def _is_no_placeholder(value: str) -> bool:
    return not is_placeholder(value) and not re.match(r"\d{1,5}[?#,]", value)  # a port, and an @ further on


def _is_user_and_password(value: str) -> bool:
    try:
        return b":" in base64.b64decode(value, validate=True)
    except binascii.Error:
        return False


# Linear on any text: what may be long is possessive, or nothing is asked for behind it; a run of token characters is
# entered at its beginning only; all else is bounded.
_WORD_START = r"(?<![A-Za-z0-9])"
_RUN_START = r"(?<![\w-])"
_HAS_DIGIT = r"(?=[\w-]{0,80}\d)"
_GAP = r"(?:[\s\"'+,]|\\[nrt])"
_PRIVATE_KEY_REST = (  # up to its end, or as much as looks like base64 where the end was cut off
    r"(?:[^-]*+(?:-(?!----)[^-]*+)*+-----END (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    rf"|(?:{_GAP}*+[A-Z][A-Za-z-]{{3,15}}: [^\n\\]{{1,100}})*+"
    rf"{_GAP}*+(?:M[A-Z][A-Za-z0-9+/]{{2}}|b3Bl|[A-Za-z0-9+/]{{16}})[A-Za-z0-9+/=]*+"
    rf"(?:{_GAP}++[A-Za-z0-9+/=]{{20,}}+)*+(?:{_GAP}++[A-Za-z0-9+/]{{1,76}}(?:={{1,2}}|\Z))?)"
)

SHAPES: tuple[Kind, ...] = (
    _kind(
        "private-key",
        "a private key: a PEM block of any algorithm, also with \\n for line ends, also cut off",
        "PRIVATE KEY-----",
        rf"-----BEGIN (?:[A-Z0-9]{{1,12}} ){{0,3}}PRIVATE KEY-----{_PRIVATE_KEY_REST}",
    ),
    _kind(
        "pgp-private-key",
        "a PGP private key block, also cut off",
        "PGP PRIVATE KEY BLOCK-----",
        rf"-----BEGIN PGP PRIVATE KEY BLOCK-----{_PRIVATE_KEY_REST}",
    ),
    _kind("age-key", "an age secret key", "AGE-SECRET-KEY-", r"AGE-SECRET-KEY-1[0-9A-Z]{20,}"),
    _kind(
        "aws-access-key",
        "an AWS key: the id of a long-lived or a temporary one",
        "AKIA|ASIA|ABIA|ACCA",
        rf"{_WORD_START}A(?:KIA|SIA|BIA|CCA)[0-9A-Z]{{16}}(?![0-9A-Za-z])",
    ),
    _kind(
        "aws-secret-key",
        "an AWS secret access key: 40 characters behind such a name",
        "ecret|ECRET",
        r"(?i:secret_?-?(?:access)?_?-?key)\\?[\"']?\s{0,4}(?:=>|[=:])\s{0,4}\\?[\"']?"
        r"([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
    ),
    _kind(
        "aws-session-token",
        "an AWS session token",
        "FwoGZXIvYXdz|IQoJb3JpZ2lu",
        r"(?:FwoGZXIvYXdz|IQoJb3JpZ2lu)[A-Za-z0-9+/=%]{50,}",
    ),
    _kind(
        "github-token",
        "a GitHub token: classic, fine-grained, OAuth, app or refresh",
        "ghp_|gho_|ghu_|ghs_|ghr_|github_pat_",
        rf"{_WORD_START}(?:gh[pousr]_[0-9A-Za-z]{{36,}}|github_pat_[0-9A-Za-z_]{{22,}})",
    ),
    _kind(
        "gitlab-token",
        "a GitLab token: personal, deploy, runner, job, trigger, feed or agent",
        "glpat-|gldt-|glrt-|glcbt-|glptt-|glft-|glagent-|GR1348941",
        rf"{_WORD_START}gl(?:pat|dt|rt|cbt|ptt|ft|agent)-[0-9A-Za-z_.-]{{20,}}|GR1348941[0-9A-Za-z_-]{{20,}}",
    ),
    _kind("slack-token", "a Slack token", "xox|xapp-", rf"{_WORD_START}(?:xox[abceoprs]|xapp)-[0-9A-Za-z.-]{{10,}}"),
    _kind(
        "slack-webhook",
        "the secret path of a Slack webhook",
        "hooks.slack.com/",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([0-9A-Za-z_/-]{20,})",
    ),
    _kind(
        "google-key", "a Google key: of its APIs, Firebase or Gemini", "AIza", rf"{_WORD_START}AIza[0-9A-Za-z_-]{{35,}}"
    ),
    _kind(
        "google-oauth",
        "a Google OAuth secret: of a client, or an access or refresh token",
        "GOCSPX-|ya29.|1//0",
        rf"{_WORD_START}(?:GOCSPX-[0-9A-Za-z_-]{{20,}}|ya29\.[0-9A-Za-z_-]{{20,}}|1//0[0-9A-Za-z_-]{{30,}})",
    ),
    _kind("anthropic-key", "an Anthropic key", "sk-ant-", rf"{_RUN_START}sk-ant-[0-9A-Za-z_-]{{16,}}"),
    _kind(
        "api-key",
        "an API key: in the sk- form of OpenAI and many others",
        "sk-",
        rf"{_RUN_START}sk-{_HAS_DIGIT}[0-9A-Za-z_-]{{20,}}",
    ),
    _kind(
        "model-host-key",
        "a key of a model host: Groq, xAI, Replicate, Perplexity, Fireworks or NVIDIA",
        "gsk_|xai-|r8_|pplx-|fw_|nvapi-",
        rf"{_RUN_START}(?:gsk_|xai-|r8_|pplx-|fw_|nvapi-){_HAS_DIGIT}[0-9A-Za-z_-]{{24,}}",
    ),
    _kind(
        "huggingface-token",
        "a Hugging Face token",
        "hf_|api_org_",
        rf"{_WORD_START}(?:hf|api_org)_{_HAS_DIGIT}[0-9A-Za-z]{{30,}}",
    ),
    _kind("npm-token", "an npm token", "npm_", rf"{_WORD_START}npm_[0-9A-Za-z]{{36,}}"),
    _kind("pypi-token", "a PyPI token", "pypi-AgE", rf"{_WORD_START}pypi-AgE[0-9A-Za-z_-]{{40,}}"),
    _kind(
        "stripe-key",
        "a Stripe key: secret, restricted, or of a webhook",
        "sk_live_|sk_test_|rk_live_|rk_test_|whsec_",
        rf"{_WORD_START}(?:[sr]k_(?:live|test)_[0-9A-Za-z]{{16,}}|whsec_[0-9A-Za-z+/=]{{24,}})",
    ),
    _kind("twilio-key", "a Twilio API key", "SK", rf"{_WORD_START}SK[0-9a-f]{{32}}(?![0-9A-Za-z])"),
    _kind("sendgrid-key", "a SendGrid key", "SG.", rf"{_RUN_START}SG\.[0-9A-Za-z_-]{{16,64}}+\.[0-9A-Za-z_-]{{16,}}"),
    _kind(
        "mail-key",
        "a key of Mailgun or Mailchimp",
        "key-|-us",
        rf"{_WORD_START}key-[0-9a-f]{{32}}(?![0-9A-Za-z])|{_WORD_START}[0-9a-f]{{32}}-us\d{{1,2}}(?!\w)",
    ),
    _kind("digitalocean-token", "a DigitalOcean token", "_v1_", rf"{_WORD_START}do[opr]_v1_[0-9a-f]{{64}}"),
    _kind(
        "azure-key",
        "an Azure key: the key of an account or a connection, or a client's secret",
        "AccountKey=|AccessKey=|Q~",
        r"(?:Account|SharedAccess)Key=([0-9A-Za-z+/]{40,}={0,2})",
        r"(?<![\w.~-])[\w.~-]{3}[78]Q~[\w.~-]{31,}",
    ),
    _kind(
        "signed-url",
        "the signature of a signed URL: Azure SAS, S3 or Google storage",
        "sig=|-Signature=",
        r"(?:[?&]sig|X-(?:Amz|Goog)-Signature)=([0-9A-Za-z%+/=_-]{30,})",
    ),
    _kind("telegram-token", "a Telegram bot's token", ":AA", r"(?<!\d)\d{8,10}:AA[0-9A-Za-z_-]{33,}"),
    _kind(
        "discord-token",
        "a Discord bot's token",
        "MT|Mj|Mz|ND|NT|Nj|Nz|OD|OT",
        rf"{_RUN_START}(?:M[Tjz]|N[DTjz]|O[DT])[\w-]{{20,28}}+\.[\w-]{{6}}\.[\w-]{{27,}}",
    ),
    _kind(
        "discord-webhook",
        "the secret path of a Discord webhook",
        "/api/webhooks/",
        r"discord(?:app)?\.com/api/webhooks/\d{10,24}/([0-9A-Za-z_-]{40,})",
    ),
    _kind("json-web-token", "a JSON web token", "eyJ", rf"{_RUN_START}eyJ[\w-]{{8,}}+\.eyJ[\w-]{{8,}}+\.[\w-]{{8,}}"),
    _kind(
        "vault-token",
        "a HashiCorp token: of Vault or Terraform",
        "hvs.|hvb.|hvr.|.atlasv1.",
        rf"{_WORD_START}hv[sbr]\.[\w-]{{24,}}|{_WORD_START}[0-9A-Za-z]{{14}}\.atlasv1\.[\w-]{{40,}}",
    ),
    _kind("docker-token", "a Docker Hub token", "dckr_", rf"{_WORD_START}dckr_[po]at_[\w-]{{20,}}"),
    _kind(
        "grafana-token",
        "a Grafana token",
        "glsa_|glc_",
        rf"{_WORD_START}(?:glsa_[0-9A-Za-z]{{32}}_[0-9a-f]{{8}}|glc_[0-9A-Za-z+/]{{32,}}={{0,2}})",
    ),
    _kind("databricks-token", "a Databricks token", "dapi", rf"{_WORD_START}dapi[0-9a-f]{{32}}(?:-\d)?"),
    _kind(
        "shopify-token",
        "a Shopify token",
        "shpat_|shpca_|shppa_|shpss_",
        rf"{_WORD_START}shp(?:at|ca|pa|ss)_[0-9a-fA-F]{{32}}",
    ),
    _kind(
        "workplace-token",
        "a token of Doppler, Linear, Notion, Atlassian, Sentry, Pulumi or New Relic",
        "dp.pt.|dp.st.|dp.ct.|dp.sa.|lin_|ntn_|secret_|ATATT3|sntry|pul-|NRAK-",
        rf"{_WORD_START}(?:dp\.(?:pt|st|ct|sa)\.[\w.-]{{40,}}|lin_(?:api|oauth)_[0-9A-Za-z]{{32,}}"
        r"|ntn_[0-9A-Za-z]{40,}|secret_[0-9A-Za-z]{43}(?![0-9A-Za-z])|ATATT3[\w=-]{60,}|sntry[su]_[0-9A-Za-z+/=_]{40,}"
        r"|pul-[0-9a-f]{40}|NRAK-[0-9A-Z]{27})",
    ),
    _kind(
        "bearer-token",
        "a bearer token: in an Authorization header or behind the word Bearer",
        "earer|EARER|uthorization: token",
        r"(?:[Bb]earer|BEARER|uthorization: token)[ \t]{1,4}(?=[\w.~+/-]{0,80}\d)([0-9A-Za-z._~+/-]{16,}={0,2})",
    ),
    _kind(
        "basic-credentials",
        "basic credentials: in an Authorization header or in Docker's config",
        'asic |"auth"',
        r"(?:[Bb]asic[ \t]{1,4}|\"auth\"\s{0,4}:\s{0,4}\")([0-9A-Za-z+/]{6,}={0,2})(?![0-9A-Za-z+/=])",
        fits=_is_user_and_password,
    ),
    _kind(
        "url-password",
        "the password in a URL or connection string: of a database, a queue, a proxy or a git remote",
        "://",
        r"://[^\s/:@\"'`<>]{0,100}:([^\s/\"'`<>{}]{1,300})@",
        fits=_is_no_placeholder,
    ),
    _kind(
        "command-password",
        "the password in a command: of curl -u, mysql -p, sshpass, redis-cli -a or docker login; and in .netrc",
        "curl|mysql|sshpass|redis-cli|docker login|login ",
        r"\b(?:curl\b[^\n]{0,200}?[ \t](?:-u|--user)[ \t=]{0,4}[\"']?[^\s:\"']{1,80}:"
        r"|mysql(?:dump|admin)?\b[^\n]{0,200}?[ \t]-p"
        r"|sshpass[ \t]{1,4}-p[ \t]{0,4}"
        r"|redis-cli\b[^\n]{0,200}?[ \t]-a[ \t]{1,4}"
        r"|docker login\b[^\n]{0,200}?[ \t]-p[ \t]{1,4}"
        r"|(?:machine\s{1,8}\S{1,80}|default)\s{1,8}login\s{1,8}\S{1,80}\s{1,8}password\s{1,8})[\"']?([^\s\"']{3,})",
        fits=_is_no_placeholder,
    ),
)
