"""The parts of the offline provider's planner, from words to answers. `huf.ai.providers.offline.plan` joins them."""
