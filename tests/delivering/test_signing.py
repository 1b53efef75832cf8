"""Signatures by Standard Webhooks: the published example, secrets that change, and what a receiver must refuse."""

import base64
import time
from datetime import UTC, datetime

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

import dmsjournal as dj
from dmsjournal.deliver.signatures import Signer, is_genuine
from tests.delivering.receiver import SECRET

BODY = b'{"test": 2432232314}'
ID, AT = "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330
PUBLISHED = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="  # of the libraries' own tests
OTHER = "whsec_" + base64.b64encode(b"o" * 32).decode()


def test_the_published_example() -> None:
    headers = Signer([SECRET]).headers(ID, AT, BODY)
    assert headers == {"webhook-id": ID, "webhook-timestamp": str(AT), "webhook-signature": PUBLISHED}
    assert Signer([SECRET.removeprefix("whsec_")]).headers(ID, AT, BODY) == headers


def test_the_scheme_s_own_library_takes_our_signatures_and_we_take_its() -> None:
    now, body = datetime.now(UTC), '{"name": "Zoë"}'
    ours = Signer([OTHER, SECRET]).headers(ID, int(now.timestamp()), body.encode())
    assert Webhook(SECRET).verify(body, ours) == {"name": "Zoë"}
    with pytest.raises(WebhookVerificationError):
        Webhook(SECRET).verify(body + " ", ours)
    theirs = ours | {"webhook-signature": Webhook(SECRET).sign(ID, now, body)}
    assert is_genuine(theirs, body.encode(), [SECRET])


def test_while_a_secret_changes_both_sign() -> None:
    headers = Signer.of_text(f"{OTHER}\n{SECRET}\n").headers(ID, AT, BODY)
    assert headers["webhook-signature"].split(" ")[1] == PUBLISHED
    for known in (OTHER, SECRET):
        assert is_genuine(headers, BODY, [known], now=AT)


def test_what_a_receiver_refuses() -> None:
    headers = Signer([SECRET]).headers(ID, AT, BODY)
    assert is_genuine({name.title(): value for name, value in headers.items()}, BODY, [OTHER, SECRET], now=AT + 300)
    assert not is_genuine(headers, BODY, [SECRET], now=AT + 301)
    assert not is_genuine(headers, BODY, [SECRET], now=AT - 301)
    assert not is_genuine(headers, BODY + b" ", [SECRET], now=AT)
    assert not is_genuine(headers, BODY, [OTHER], now=AT)
    assert not is_genuine({}, BODY, [SECRET])
    for name, value in {"webhook-id": "msg", "webhook-timestamp": str(AT + 1), "webhook-signature": "v1,é"}.items():
        assert not is_genuine(headers | {name: value}, BODY, [SECRET], now=AT), name
    for timestamp in ("noon", "9" * 400, "9" * 5_000, "-1", "1e9"):
        assert not is_genuine(headers | {"webhook-timestamp": timestamp}, BODY, [SECRET])
    assert is_genuine(Signer([SECRET]).headers(ID, int(time.time()), BODY), BODY, [SECRET])


@pytest.mark.parametrize("secret", ["whsec_", "whsec_c2hvcnQ=", "whsec_not base64", "secret-word", "whsec_" + "A" * 88])
def test_what_is_no_secret_is_refused_unshown(secret: str) -> None:
    with pytest.raises(dj.InvalidRequest, match="24 to 64") as raised:
        Signer([secret])
    assert str(raised.value) == "secret = '***': a secret is whsec_ and the Base64 of 24 to 64 random bytes"


def test_no_secret_at_all() -> None:
    with pytest.raises(dj.InvalidRequest, match="give one"):
        Signer.of_text(" \n")
