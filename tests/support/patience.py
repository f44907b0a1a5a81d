"""How long tests wait for what is certain to come. Only a defect takes longer, on however busy a machine."""

from __future__ import annotations

LONGEST_WAIT_S = 600.0
