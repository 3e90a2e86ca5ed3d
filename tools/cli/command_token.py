"""`graphdbg token`: manages the named tokens of a server."""

from __future__ import annotations

import argparse
import json
import re

from . import connection
from .client import Json, quote
from .command_url import ROLES
from .terminal import visible

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser(
        "token",
        help="create, list and revoke tokens for other people and scripts",
        description="Tokens give other people and scripts access to the server. The role 'view' reads, 'control' also "
        "controls jobs and sets watchpoints, and 'admin' also terminates and deletes jobs and manages tokens.",
    )
    commands = parser.add_subparsers(dest="token_command", metavar="COMMAND", required=True)

    create = commands.add_parser("create", help="create a token, which is shown only once")
    create.add_argument("name", metavar="NAME", help="name of the person or script")
    create.add_argument("--role", choices=ROLES, required=True, help="what the token may do")
    create.add_argument(
        "--expires", type=_seconds, metavar="TIME", help="lifetime, such as 12h or 30d (default: unlimited)"
    )
    connection.add_options(create)
    create.set_defaults(run=_create)

    listing = commands.add_parser("list", help="list tokens and the sessions of pages")
    connection.add_options(listing)
    listing.set_defaults(run=_list)

    revoke = commands.add_parser("revoke", help="end a token or a session, and the sessions that it has let in")
    revoke.add_argument("id", metavar="ID", help="id of the token or session (see `graphdbg token list`)")
    connection.add_options(revoke)
    revoke.set_defaults(run=_revoke)


def _create(arguments: argparse.Namespace) -> int:
    body: Json = {"name": arguments.name, "role": arguments.role}
    if arguments.expires is not None:
        body["expires_in_seconds"] = arguments.expires
    created = connection.connect(arguments).post("/tokens", body)
    # Only the token itself, so that scripts can store it in a file.
    print(json.dumps(created) if arguments.json else visible(created["token"]))
    return 0


def _list(arguments: argparse.Namespace) -> int:
    found = connection.connect(arguments).get("/tokens")
    if arguments.json:
        print(json.dumps(found))
        return 0
    for kind in ("tokens", "sessions"):
        for item in found[kind]:
            expires = item["expires_at"] or "never"
            print(
                f"{visible(item['id']):14}{kind.removesuffix('s'):9}{visible(item['name']):20} "
                f"{visible(item['role']):9}expires {visible(expires)}"
            )
    if not found["tokens"] and not found["sessions"]:
        print("no tokens")
    return 0


def _revoke(arguments: argparse.Namespace) -> int:
    connection.connect(arguments).delete(f"/tokens/{quote(arguments.id)}")
    print(json.dumps({"revoked": arguments.id}) if arguments.json else "revoked")
    return 0


def _seconds(text: str) -> int:
    match = re.fullmatch(r"([1-9][0-9]{0,8})([smhd])", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"expected a time such as 90s, 30m, 12h or 7d, not '{text}'")
    return int(match[1]) * _UNITS[match[2]]
