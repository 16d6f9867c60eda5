"""A proxy in front of a server that can fall silent, or cut its connections."""

from __future__ import annotations

import contextlib
import socket
import threading


class Proxy:
    """Passes bytes on, in both directions, until it is told otherwise."""

    def __init__(self, port: int) -> None:
        self.port = port
        """The server's; it may change."""
        self._flowing = threading.Event()
        self._flowing.set()
        self._sockets: list[socket.socket] = []
        self.connections = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def silence(self) -> None:
        """Holds back what the server sends on the connections that there are; later ones flow."""
        self._flowing.clear()
        self._flowing = threading.Event()
        self._flowing.set()

    def hold(self) -> None:
        """Holds back what the server sends on new connections, until `release`."""
        self._flowing = threading.Event()

    def release(self) -> None:
        self._flowing.set()

    def cut(self) -> None:
        for one in self._sockets:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self.connections += 1
                try:
                    server = socket.create_connection(("127.0.0.1", self.port))
                except OSError:
                    client.close()
                    continue
                self._sockets += [client, server]
                flowing = self._flowing
                for source, target in ((client, server), (server, client)):
                    held = flowing if source is server else None
                    arguments = (source, target, held)
                    threading.Thread(target=self._pass_on, args=arguments, daemon=True).start()

    def _pass_on(
        self, source: socket.socket, target: socket.socket, flowing: threading.Event | None
    ) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65_536):
                if flowing is not None:
                    flowing.wait()
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
