"""Two thousand lines without secrets: of the standard library, half of them chosen for their words, and hard ones."""

from __future__ import annotations

import random
import re
import sysconfig
from pathlib import Path

NEAR_A_SECRET = re.compile(r"passw|pwd|secret|token|key|credential|auth|://|bearer|basic|private|base64", re.IGNORECASE)
NOT_LIBRARY = {
    "site-packages",
    "test",
    "tests",
    "idlelib",
}  # the library's own tests hold passwords, made up but planted


def ordinary(seed: int, count: int) -> list[str]:
    """Return `count` lines: the hard ones below, and else as many with such words as without a choice."""
    rng = random.Random(seed)
    root = Path(sysconfig.get_path("stdlib"))
    files = (path for path in sorted(root.rglob("*.py")) if not NOT_LIBRARY & set(path.relative_to(root).parts))
    lines = [line.strip() for path in files for line in path.read_text(errors="replace").splitlines() if line.strip()]
    near = [line for line in lines if NEAR_A_SECRET.search(line)]
    half = (count - len(HARD)) // 2
    return [*HARD, *rng.sample(near, half), *rng.sample(lines, count - len(HARD) - half)]


HARD = [
    line
    for line in r"""
token = tokenizer.decode(ids)
token = tokens[position]
tokens = 512
max_tokens=1024
"max_tokens": 1024, "prompt_tokens": 311
pad_token = "<pad>"
eos_token: str = "<|endoftext|>"
token_type = "bearer"
"token": "string"
token: Token | None = None
def __init__(self, token: str, secret: str | None = None) -> None:
self.token = token
self.password = password
return Client(user=user, password=password)
connect(host, password=pw1, token=tok2)
password = getpass()
password = getpass.getpass("Password: ")
password = os.environ.get("DB_PASSWORD")
password: str = field(repr=False)
password = settings.database.password
password: Optional[str] = None
password=None, token=None
password = ""
password = "password"
PASSWORD = "<your password>"
PASSWORD=changeme
PASSWORD=your_password_here
password: ****
password: '********'
password: "{{ vault_db_password }}"
password: ${DB_PASSWORD}
DB_PASSWORD=$DB_PASSWORD ./run.sh
--password "$PASSWORD" --token ${TOKEN}
--password PASSWORD
the --password option is read from a file, the --token option is not
api_key = os.environ["KEY"]
api_key=os.getenv("OPENAI_API_KEY"),
api_key_env = ""
API_KEY=xxxxxxxxxxxxxxxx
api_key: <your-api-key>
apiKey: process.env.API_KEY,
const secret = await getSecret("db/password");
secret: None
secret: str = Field(...)
secret = secrets.token_hex(16)
SECRET_KEY = env("SECRET_KEY")
client_secret: !vault secret/app
access_key: AccessKey
token=$(cat token.txt)
token: $CI_JOB_TOKEN
TOKEN=`gcloud auth print-access-token`
token: ${{ secrets.GITHUB_TOKEN }}
Authorization: Bearer <token>
headers = {"Authorization": f"Bearer {token}"}
-H "Authorization: Bearer $TOKEN"
Authorization: Basic authentication is refused
the Bearer authentication-scheme-of-the-client is looked up
postgres://$USER:$PASSWORD@localhost/db
postgres://user:password@localhost:5432/db
f"postgres://{user}:{password}@{host}/{name}"
http://localhost:8080/path?mail=ada@example.org
http://proxy.example.org:3128
ssh://git@git.example.org:22/ada/shop.git
git@github.com:ada/shop.git
https://example.org/?next=/home&page_token=2
pwd=/home/x
pwd: /srv/app
cd "$(pwd)" && ls
passwd: files systemd
root:x:0:0:root:/root:/bin/bash
docker run -u 1000:1000 -v /data:/data alpine
sort -u names.txt
curl -u "$USER:$PASSWORD" https://example.org
mysql -u root -p shop
commit 3f786850e387550fdab836ed7e6dc881de23001b
2fff58b..0eeb800 main -> main
id: 123e4567-e89b-12d3-a456-426614174000
sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
etag: "33a64df551425fcc55e4d42a148795d9f25f89d4"
md5 d41d8cd98f00b204e9800998ecf8427e  empty.txt
integrity="sha384-oqVuAfXRKap7fdgcCY5uykM6+R9GqQ8K/uxy9rx7HNQlGYl1kPzQho1wx4JwY8wC"
b64 = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIG8rBq2sZ5d9Y0p3m1n4o6 ada@laptop
-----BEGIN CERTIFICATE-----
if line == "-----BEGIN PRIVATE KEY-----":
-----BEGIN PUBLIC KEY-----
sk-learn-contrib-lightning-and-friends
task-0193abc-sandbox-run-with-a-long-name
import secrets, tokenize, keyword, token
key = lambda item: item.score
primary_key=True
sort_key = "created_at"
public_key_bytes = key.public_bytes()
foreign_key: orders.customer_id
keyword="value"
"key": "ArrowUp", "code": "ArrowUp"
csrf_token = generate_csrf()
next_page_token: nextPageToken,
The token budget is 640 bytes, the password prompt comes first.
Forgot your password? Reset it: https://example.org/reset
[learned] Never logs a password or token: masks it first
rewrote auth.py: token refresh moved out of the request path
""".splitlines()
    if line
]
