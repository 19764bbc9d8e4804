"""Secrets made at run time, ten of each kind, planted in surroundings like those that an event's text comes from.

None of them is written out here: a scanner that reads this repository finds nothing, and nothing here opens anything.
"""

from __future__ import annotations

import base64
import json
import random
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass

HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + string.digits
WORD = string.ascii_letters + string.digits
DASHED = WORD + "_-"
BASE64 = WORD + "+/"
PER_KIND = 10


@dataclass(frozen=True)
class Planted:
    """A text with one secret: `before + secret + after`."""

    kind: str
    before: str
    secret: str
    after: str

    @property
    def text(self) -> str:
        return self.before + self.secret + self.after


AROUND_A_TOKEN = (
    "2026-11-30 12:00:03 INFO worker-3: sent § to upstream in 31 ms",
    'client = Client("§", timeout=30)',
    '{"user": "ada", "note": "§", "n": 3}',
    "https://api.example.org/v1/items?v=§&page=2",
    "SERVICE_VALUE=§",
    "  412  export VALUE='§' && ./deploy.sh staging",
    "  value: §\n  replicas: 3",
    "+    connect(§)",
    "Please use § from now on, it is the new one.",
    "| staging | `§` | 2026-11-30 |",
)
"""Where a token gives itself away, whatever surrounds it."""


def planted(seed: int) -> Iterator[Planted]:
    """Yield ten planted secrets of every kind."""
    rng = random.Random(seed)
    for kind, make in TOKENS.items():
        for around in AROUND_A_TOKEN:
            before, after = around.split("§")
            yield Planted(kind, before, make(rng), after)
    for kind, make, arounds in (
        *((kind, *rest) for kind, rest in IN_CONTEXT.items()),
        *(("assigned-secret", *rest) for rest in NAMED),
    ):
        for number in range(PER_KIND):
            before, after = arounds[number % len(arounds)].split("§")
            yield Planted(kind, before, make(rng), after)


def some(rng: random.Random, alphabet: str, length: int) -> str:
    """Return `length` characters; letters and digits among them wherever the alphabet has both."""
    text = "".join(rng.choices(alphabet, k=length - 2))
    letters = [char for char in alphabet if char.isalpha()]
    return text + rng.choice("23456789") + rng.choice(letters)


def _of(prefix: str, alphabet: str, length: int) -> Callable[[random.Random], str]:
    return lambda rng: prefix + some(rng, alphabet, length)


def _one_of(*makers: Callable[[random.Random], str]) -> Callable[[random.Random], str]:
    return lambda rng: rng.choice(makers)(rng)


def _encoded(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def _web_token(rng: random.Random) -> str:
    claims = {"sub": some(rng, WORD, 8), "iat": rng.randrange(10**9)}
    return f"{_encoded({'alg': 'HS256', 'typ': 'JWT'})}.{_encoded(claims)}.{some(rng, DASHED, 43)}"


def _discord(rng: random.Random) -> str:
    name = base64.b64encode(str(rng.randrange(10**17, 10**18)).encode()).decode()
    return f"{name}.{some(rng, WORD, 6)}.{some(rng, DASHED, 38)}"


TOKENS: dict[str, Callable[[random.Random], str]] = {
    "age-key": _of("AGE-SECRET" + "-KEY-1", UPPER, 58),
    "aws-access-key": _one_of(_of("AK" + "IA", UPPER, 16), _of("AS" + "IA", UPPER, 16)),
    "aws-session-token": _of("IQoJb3Jp" + "Z2lu", BASE64, 180),
    "github-token": _one_of(_of("gh" + "p_", WORD, 36), _of("gh" + "s_", WORD, 36), _of("github" + "_pat_", WORD, 82)),
    "gitlab-token": _one_of(_of("gl" + "pat-", DASHED, 20), _of("gl" + "rt-", DASHED, 20)),
    "slack-token": _one_of(
        lambda rng: f"xo{'xb'}-{rng.randrange(10**11)}-{rng.randrange(10**12)}-{some(rng, WORD, 24)}",
        lambda rng: f"xa{'pp'}-1-{some(rng, UPPER, 11)}-{rng.randrange(10**12)}-{some(rng, HEX, 64)}",
    ),
    "google-key": _of("AI" + "za", DASHED, 35),
    "google-oauth": _one_of(_of("GOC" + "SPX-", DASHED, 28), _of("ya" + "29.", DASHED, 120)),
    "anthropic-key": _of("sk-" + "ant-api03-", DASHED, 95),
    "api-key": _one_of(_of("s" + "k-", WORD, 48), _of("sk-" + "proj-", DASHED, 120)),
    "model-host-key": _one_of(_of("gs" + "k_", WORD, 52), _of("xa" + "i-", WORD, 80), _of("r" + "8_", WORD, 37)),
    "huggingface-token": _of("h" + "f_", WORD, 34),
    "npm-token": _of("np" + "m_", WORD, 36),
    "pypi-token": _of("pyp" + "i-AgEIcHlwaS5vcmc", DASHED, 150),
    "stripe-key": _one_of(_of("sk_" + "live_", WORD, 24), _of("rk_" + "live_", WORD, 99), _of("wh" + "sec_", WORD, 32)),
    "twilio-key": _of("S" + "K", HEX, 32),
    "sendgrid-key": lambda rng: f"S{'G'}.{some(rng, DASHED, 22)}.{some(rng, DASHED, 43)}",
    "mail-key": _one_of(_of("ke" + "y-", HEX, 32), lambda rng: some(rng, HEX, 32) + "-us12"),
    "digitalocean-token": _of("dop" + "_v1_", HEX, 64),
    "telegram-token": lambda rng: f"{rng.randrange(10**8, 10**10)}:A{'A'}{some(rng, DASHED, 33)}",
    "discord-token": _discord,
    "json-web-token": _web_token,
    "vault-token": _one_of(
        _of("hv" + "s.", DASHED, 95), lambda rng: f"{some(rng, WORD, 14)}.atlas{'v1'}.{some(rng, WORD, 67)}"
    ),
    "docker-token": _of("dckr" + "_pat_", DASHED, 27),
    "grafana-token": lambda rng: f"gl{'sa'}_{some(rng, WORD, 32)}_{some(rng, HEX, 8)}",
    "databricks-token": _of("da" + "pi", HEX, 32),
    "shopify-token": _of("shp" + "at_", HEX, 32),
    "workplace-token": _one_of(
        _of("dp." + "pt.", WORD, 43),
        _of("lin" + "_api_", WORD, 40),
        _of("nt" + "n_", WORD, 46),
        _of("pu" + "l-", HEX, 40),
    ),
}


def _pem(kind: str, lines: int, line_end: str, *, cut: bool = False) -> Callable[[random.Random], str]:
    def make(rng: random.Random) -> str:
        body = [
            "MII" + some(rng, BASE64, 61),
            *(some(rng, BASE64, 64) for _ in range(lines)),
            some(rng, BASE64, 30) + "==",
        ]
        ends = [f"-----BEGIN {kind}-----", f"-----END {kind}-----"]
        return line_end.join([ends[0], *(body[:-1] if cut else body)] + ([] if cut else [ends[1]]))

    return make


_PRIVATE = "PRIVATE" + " KEY"
_keys = (
    _pem(f"RSA {_PRIVATE}", 24, "\n"),
    _pem(f"OPENSSH {_PRIVATE}", 5, "\n"),
    _pem(_PRIVATE, 2, "\\n"),
    _pem(f"EC {_PRIVATE}", 2, "\n    "),
    _pem(f"ENCRYPTED {_PRIVATE}", 8, "\r\n"),
    _pem(_PRIVATE, 3, "\n", cut=True),
    _pem(f"RSA {_PRIVATE}", 3, "\\n", cut=True),
)
_pgp = (_pem(f"PGP {_PRIVATE} BLOCK", 12, "\n"), _pem(f"PGP {_PRIVATE} BLOCK", 4, "\n", cut=True))


def _password(rng: random.Random) -> str:
    """A password of a person or a generator, of the characters that need no quotes anywhere."""
    return rng.choice(
        [
            lambda: some(rng, WORD, rng.randrange(9, 25)),
            lambda: some(rng, WORD + "!.*+-_^~", 16),
            lambda: (
                rng.choice(["hunter", "Sommer", "Qwerty", "dragon"])
                + str(rng.randrange(2, 2027))
                + rng.choice(["", "!", "*"])
            ),
        ]
    )()


def _weak(rng: random.Random) -> str:
    return rng.choice(["letmein", "correcthorse", "iloveyou", "monkeybusiness", "sunshine"])


def _credentials(rng: random.Random) -> str:
    return base64.b64encode(f"deploy:{some(rng, WORD, 14)}".encode()).decode()


IN_CONTEXT: dict[str, tuple[Callable[[random.Random], str], tuple[str, ...]]] = {
    "private-key": (
        _one_of(*_keys),
        (
            "§",
            "wrote id_rsa:\n§",
            '{"type": "service_account", "k": "§',
            "cat > deploy.pem <<EOF\n§",
            "TLS_KEY='§",
        ),
    ),
    "pgp-private-key": (_one_of(*_pgp), ("§", "gpg --export-secret-keys gave\n§", "key: |\n§")),
    "aws-secret-key": (
        lambda rng: some(rng, BASE64, 40),
        (
            "aws_secret_access_key = §\nregion = eu-central-1",
            "export AWS_SECRET_ACCESS_KEY=§",
            '"SecretAccessKey": "§", "Expiration": "2026-11-30"',
            "session = boto3.Session(aws_secret_access_key='§')",
            "secretAccessKey: §",
        ),
    ),
    "slack-webhook": (
        lambda rng: f"T{some(rng, UPPER, 10)}/B{some(rng, UPPER, 10)}/{some(rng, WORD, 24)}",
        ("curl -d @m.json https://hooks.slack.com/services/§", 'WEBHOOK="https://hooks.slack.com/services/§"'),
    ),
    "discord-webhook": (
        lambda rng: some(rng, DASHED, 68),
        (
            "https://discord.com/api/webhooks/112233445566778899/§",
            'post("https://discordapp.com/api/webhooks/112233445566778899/§", d)',
        ),
    ),
    "azure-key": (
        lambda rng: some(rng, BASE64, 86) + "==",
        (
            "DefaultEndpointsProtocol=https;AccountName=ada;AccountKey=§;EndpointSuffix=core.windows.net",
            "Endpoint=sb://ada.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=§",
        ),
    ),
    "signed-url": (
        lambda rng: some(rng, WORD, 40) + "%3D",
        (
            "https://ada.blob.core.windows.net/c/f.csv?sv=2026-01-01&se=2026-12-01&sig=§",
            "GET /f.csv?X-Amz-Expires=300&X-Amz-Signature=§&x-id=GetObject",
        ),
    ),
    "bearer-token": (
        lambda rng: some(rng, WORD, 32),
        (
            "curl -H 'Authorization: Bearer §' https://api.example.org/v1/me",
            'headers = {"Authorization": "Bearer §"}',
            "> authorization: bearer §",
            "sent with Bearer § and got 401",
        ),
    ),
    "basic-credentials": (
        _credentials,
        (
            "curl -H 'Authorization: Basic §' https://ci.example.org/",
            'headers={"authorization": "Basic §"},',
            '{"auths": {"registry.example.org": {"auth": "§"}}}',
        ),
    ),
    "url-password": (
        _password,
        (
            "DATABASE_URL=postgres://ada:§@db.example.org:5432/shop?sslmode=require",
            "create_engine('mysql+pymysql://root:§@localhost/shop')",
            "mongodb+srv://ada:§@cluster0.example.net/?retryWrites=true",
            "connecting to redis://:§@cache:6379/0 …",
            'BROKER = "amqp://guest:§@rabbit:5672//"',
            "git clone https://ada:§@git.example.org/ada/shop.git",
            '{"proxy": "http://proxy-user:§@proxy:3128"}',
            "$ psql postgresql://ada:§@10.0.0.5/shop -c 'select 1'",
            "sqlserver://sa:§@sql.example.org:1433;database=shop",
            "ftp://backup:§@ftp.example.org/nightly.tgz",
        ),
    ),
    "command-password": (
        _password,
        (
            "  88  curl -s -u ada:§ https://ci.example.org/job/1",
            "mysql -h db -u root -p§ shop < dump.sql",
            "sshpass -p '§' ssh ada@10.0.0.5",
            "redis-cli -h cache -a § flushall",
            "docker login -u ada -p § registry.example.org",
            "machine git.example.org login ada password §",
        ),
    ),
}

NAMED: tuple[tuple[Callable[[random.Random], str], tuple[str, ...]], ...] = (
    (
        _password,
        (
            "DB_PASSWORD=§",
            'password = "§"',
            "  password: §\n  port: 5432",
            '{"user": "ada", "password": "§"}',
            "connect(host, user='ada', passwd='§')",
            "Server=db;Database=shop;User Id=sa;Password=§;Encrypt=true",
            "https://example.org/login?user=ada&password=§&next=%2F",
            "  31  createuser --password §",
            "export PGPASSWORD=§; psql shop",
            "smtp_pass: str = '§'",
        ),
    ),
    (
        lambda rng: some(rng, WORD, rng.randrange(20, 45)),
        (
            "API_KEY=§",
            'api_key = "§"',
            "  client_secret: §",
            '"access_token": "§", "token_type": "bearer"',
            "client = Client(token='§')",
            "GET /v1/forecast?city=Oslo&apikey=§&days=3",
            "./deploy.sh --auth-token §",
            "SECRET_KEY = '§'",
            "//registry.example.org/:_authToken=§",
            "<clientSecret>§</clientSecret>",
        ),
    ),
    (
        lambda rng: some(rng, HEX, 32),
        (
            "log: retrying with token=§ after 2 s",
            "x-api-key: §",
            'const apiKey = "§";',
            '{\\"secret\\": \\"§\\"}',
            "os.environ['ENCRYPTION_KEY'] = '§'",
        ),
    ),
    (
        _weak,
        (
            'password = "§"',
            "MYSQL_ROOT_PASSWORD=§",
            "login(user='ada', password='§')",
            '{"password":"§"}',
            "  12  mysqladmin --password=§ status",
        ),
    ),
)
