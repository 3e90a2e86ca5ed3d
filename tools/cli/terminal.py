"""Text from jobs and servers, made safe for terminals."""

from __future__ import annotations

import re

# Characters that are invisible, control a terminal or change the direction of the text around
# them; also bytes that are not UTF-8, which Python decodes to lone surrogates. The server
# (server/base/visible_text.cc) and the page (webui/src/base/visible.ts) replace the same ones.
_UNSEEN = re.compile(
    r"[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)


def visible(text: object) -> str:
    """Replaces such characters by their code points, as in "⟨U+001B⟩". The result is one line."""
    return _UNSEEN.sub(lambda match: f"⟨U+{ord(match[0]):04X}⟩", str(text))
