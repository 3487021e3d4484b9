"""The Messages endpoint of Anthropic: its requests as chat completions, chat answers in its form, and its own shape."""

from gateway.wire.messages.errors import error_body
from gateway.wire.messages.rendering import Messages
from gateway.wire.messages.request import to_chat
from gateway.wire.messages.schema import CountTokensRequest, MessagesRequest
from gateway.wire.messages.shape import MESSAGES
from gateway.wire.messages.tokens import count_tokens

__all__ = [
    "MESSAGES",
    "CountTokensRequest",
    "Messages",
    "MessagesRequest",
    "count_tokens",
    "error_body",
    "to_chat",
]
