"""What is known of each provider with OpenAI's chat completions: its address, its key, and the names of its fields.

A provider that is not here works too, as `http` with an `endpoint`. Rules change: an entry holds what is true of all of
a provider's models, and a field that one model refuses is recognised from its reply (`refused_fields.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Profile:
    """The known properties of a provider that uses the chat-completions format."""

    base_url: str | None = None
    """None where every account or server has its own: an entry then needs an `endpoint`."""
    key_variable: str | None = None
    """The environment variable of its key; None where none is needed unless an entry has `api_key_env`."""
    key_header: str = "authorization"
    """The header of the key; in `authorization` it follows the word Bearer."""
    takes_schema: bool = False
    """Its models accept `response_format` of type `json_schema`, or it drops the field for those that do not."""
    names: Mapping[str, str | None] = field(default_factory=dict)
    """Its own names of `max_tokens`, `seed` and `temperature` where they differ; None for a field that it refuses."""
    reports_usd: bool = False
    """It returns `usage.cost` in USD on request."""
    cost_header: str | None = None
    """The header, in lower case, that tells the cost of an answer in USD."""
    lists_prices: bool = False
    """Its list of models gives the price of each per token."""


# OpenAI's newer models refuse `max_tokens`; the older ones accept both names.
_NEW_CAP = {"max_tokens": "max_completion_tokens"}

PROFILES: dict[str, Profile] = {
    # Hosts of many providers' models.
    "openrouter": Profile(
        "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", takes_schema=True, reports_usd=True, lists_prices=True
    ),
    "groq": Profile("https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    "together": Profile("https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    "fireworks": Profile("https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY", takes_schema=True),
    "cerebras": Profile("https://api.cerebras.ai/v1", "CEREBRAS_API_KEY", takes_schema=True, names=_NEW_CAP),
    "azure": Profile(None, "AZURE_OPENAI_API_KEY", "api-key", takes_schema=True, names=_NEW_CAP),
    # Providers of their own models.
    "openai": Profile("https://api.openai.com/v1", "OPENAI_API_KEY", takes_schema=True, names=_NEW_CAP),
    "anthropic": Profile("https://api.anthropic.com/v1", "ANTHROPIC_API_KEY", takes_schema=True),
    "gemini": Profile(
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "GEMINI_API_KEY",
        takes_schema=True,
        names={"seed": None},
    ),
    "mistral": Profile(
        "https://api.mistral.ai/v1", "MISTRAL_API_KEY", takes_schema=True, names={"seed": "random_seed"}
    ),
    "xai": Profile("https://api.x.ai/v1", "XAI_API_KEY", takes_schema=True),
    "deepseek": Profile("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    "moonshot": Profile("https://api.moonshot.ai/v1", "MOONSHOT_API_KEY"),
    "dashscope": Profile("https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY"),
    "zhipu": Profile("https://open.bigmodel.cn/api/paas/v4", "ZHIPUAI_API_KEY"),
    # Servers on this machine, at the ports that they use by default.
    "vllm": Profile("http://127.0.0.1:8000/v1", takes_schema=True),
    "llama.cpp": Profile("http://127.0.0.1:8080/v1", takes_schema=True),
    "ollama": Profile("http://127.0.0.1:11434/v1", takes_schema=True),
    "litellm": Profile("http://127.0.0.1:4000/v1", "LITELLM_API_KEY", cost_header="x-litellm-response-cost"),
    # Any other server.
    "http": Profile(),
    "openai_compatible": Profile(),
}
