"""A client of Fathom's API: token liquidity as Arrow, polars or pandas tables.

from fathom_client import Client

with Client("http://127.0.0.1:8080", key) as fathom:
    cells = fathom.replay("WETH", "-30d", group="venue").to_polars()
"""

from . import generated
from .client import AsyncClient, Client
from .documents import Document
from .errors import (
    AuthError,
    FathomError,
    LimitError,
    NoReplyError,
    RequestError,
    ServerError,
    TokenSymbolError,
)
from .export import Export, ExportPage, ExportReplay, ExportTable, open_export
from .follow import LiveMessage
from .generated import *  # noqa: F403
from .http import Wait
from .parameters import Time
from .replay import AsyncReplay, Replay

__version__ = "0.1.0"

__all__ = [
    "AsyncClient",
    "AsyncReplay",
    "AuthError",
    "Client",
    "Document",
    "Export",
    "ExportPage",
    "ExportReplay",
    "ExportTable",
    "FathomError",
    "LimitError",
    "LiveMessage",
    "NoReplyError",
    "Replay",
    "RequestError",
    "ServerError",
    "Time",
    "TokenSymbolError",
    "Wait",
    "open_export",
]
__all__ += generated.__all__
