"""The endpoint `/responses`: its request as a chat completion, a chat answer in its form, and its shape upstream."""

from gateway.wire.responses.rendering import Responses, failure
from gateway.wire.responses.request import to_chat
from gateway.wire.responses.schema import ResponsesRequest
from gateway.wire.responses.shape import RESPONSES

__all__ = ["RESPONSES", "Responses", "ResponsesRequest", "failure", "to_chat"]
