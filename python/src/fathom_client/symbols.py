"""Tokens as people name them: by address, CHAIN:ADDRESS, symbol or CHAIN:SYMBOL."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from .errors import RequestError, TokenSymbolError, quoted
from .generated.api import FoundToken, Tokens

Chain = Literal["mainchain", "evmchain"]
CHAINS: tuple[Chain, ...] = ("mainchain", "evmchain")
ADDRESSES: dict[Chain, re.Pattern[str]] = {
    "mainchain": re.compile(r"[1-9A-HJ-NP-Za-km-z]{32,44}"),
    "evmchain": re.compile(r"0x[0-9a-fA-F]{40}"),
}
FORMS = "an address, CHAIN:ADDRESS, a symbol or CHAIN:SYMBOL"

MAX_QUERY_CHARS = 100
PAGE_TOKENS = 100
"""The longest query of GET /tokens, and its longest page."""
MAX_PAGES = 10
"""The most pages read for one symbol: tokens beyond do not count as candidates."""
MAX_REMEMBERED = 1000
"""The most symbols that a client remembers."""
SHOWN = 5
"""Candidates that a message names."""

Search = Callable[[str, "Chain | Literal['all']", "str | None"], Awaitable[Tokens]]
"""Requests a page of GET /tokens by query, chain and cursor."""


@dataclass(frozen=True)
class NamedToken:
    """A token by its address, or by a symbol that is yet to be looked up, on any chain if None."""

    chain: Chain | None
    address: str | None = None
    symbol: str | None = None


def named_token(text: str, chain: Chain | None = None) -> NamedToken:
    """What a text names. One in the form of an address is an address, even if a symbol reads the same.

    Args:
        chain: the chain that a text without one is on.

    Raises:
        RequestError: if the text is empty, or its address is of another chain.
    """
    given = next((known for known in CHAINS if text.startswith(f"{known}:")), None)
    name = text if given is None else text[len(given) + 1 :]
    own = next((known for known in CHAINS if ADDRESSES[known].fullmatch(name)), None)
    if own is not None:
        if given not in (None, own):
            raise _wrong(f"expected an address of {given}, found '{name}'")
        return NamedToken(own, address=name)
    if not name:
        raise _wrong(f"expected {FORMS}")
    return NamedToken(given or chain, symbol=name)


def _wrong(message: str) -> RequestError:
    return RequestError(f"token: {message}", parameter="token")


def pick_token(symbol: str, chain: Chain | None, found: Sequence[FoundToken]) -> FoundToken:
    """The only token whose symbol is the same, case included, or the only scored one of several.

    Raises:
        TokenSymbolError: if none has the symbol, or several and not exactly one of them is scored.
    """
    there = [token for token in found if chain in (None, token.chain)]
    same = sorted((one for one in there if one.symbol == symbol), key=lambda one: not _scored(one))
    scored = [token for token in same if _scored(token)]
    if len(same) == 1 or len(scored) == 1:
        return same[0]
    where = "" if chain is None else f" on {chain}"
    what = f"the symbol '{quoted(symbol)}'"
    if not same:
        nearest = there[:SHOWN]
        hint = f"nearest: {_listed(nearest)}" if nearest else f"expected {FORMS}"
        message = f"no token{where} has {what}; {hint}"
        raise TokenSymbolError(message, code="unknown_symbol", candidates=nearest)
    message = (
        f"{len(same)} tokens{where} have {what}: {_listed(same)}; "
        f"name one by {_remedy(symbol, same)}"
    )
    raise TokenSymbolError(message, code="ambiguous_symbol", candidates=same)


def _scored(token: FoundToken) -> bool:
    return token.service_score is not None


def _remedy(symbol: str, same: Sequence[FoundToken]) -> str:
    """What distinguishes tokens of one symbol: its chain where that is enough, or the address."""
    names = []
    for chain in CHAINS:
        own = [token for token in same if token.chain == chain]
        if len(own) < len(same) and 1 in (len(own), len([one for one in own if _scored(one)])):
            names.append(quoted(f"{chain}:{symbol}"))
    return " or ".join([*names, "its address"])


def _listed(tokens: Sequence[FoundToken]) -> str:
    names = []
    for token in tokens[:SHOWN]:
        score = "not scored" if token.service_score is None else f"score {token.service_score}"
        told = [quoted((text or "")[:40]) for text in (token.symbol, token.name)]
        names.append(
            f"{token.chain}:{token.address} ({', '.join(one for one in [*told, score] if one)})"
        )
    more = len(tokens) - len(names)
    return f"{', '.join(names)} and {more} more" if more > 0 else ", ".join(names)


class Symbols:
    """The tokens of symbols, each looked up once by GET /tokens, and remembered."""

    def __init__(self, search: Search) -> None:
        self._search = search
        self._known: dict[tuple[Chain | None, str], FoundToken] = {}

    async def address_of(self, text: str, chain: object = None) -> str:
        """The address of the token that a text names."""
        named = named_token(text, next((known for known in CHAINS if known == chain), None))
        if named.address is not None:
            return named.address
        assert named.symbol is not None
        key = (named.chain, named.symbol)
        token = self._known.get(key)
        if token is None:
            token = pick_token(named.symbol, named.chain, await self._candidates(*key))
            if len(self._known) >= MAX_REMEMBERED:
                del self._known[next(iter(self._known))]
            self._known[key] = token
        return token.address

    async def _candidates(self, chain: Chain | None, symbol: str) -> list[FoundToken]:
        """Every token with the symbol, and others that begin with it, or alike if there are none."""
        query = symbol[:MAX_QUERY_CHARS]
        where: Chain | Literal["all"] = chain or "all"
        found: list[FoundToken] = []
        cursor = None
        for _ in range(MAX_PAGES):
            page = await self._search(query, where, cursor)
            found.extend(page.tokens)
            cursor = page.next_cursor
            # Tokens with the symbol come first.
            if cursor is None or (found[-1].symbol or "").lower() != symbol.lower():
                break
        half = query[: (len(query) + 1) // 2]
        if found or half == query:
            return found
        return (await self._search(half, where, None)).tokens
