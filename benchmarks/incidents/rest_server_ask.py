"""Runs where flink-mcp-server is installed, and imports nothing of diag: stdin has ``{case: {path: answer}}``, stdout gets
``{case: {"jobs": [what diagnose_job says], "seconds": number}}``. A path that was not recorded is a 404, as of a server without it.
"""

import asyncio
import json
import re
import sys
import time

import httpx
from flink_mcp import server
from flink_mcp.client import FlinkClient


def client(pages):
    def answer(request):
        found = pages.get(request.url.path)
        return httpx.Response(404, json={"errors": ["Not found."]}) if found is None else httpx.Response(200, json=found)

    return FlinkClient("http://recorded", transport=httpx.MockTransport(answer), metrics_retries=0)


async def ask(pages):
    async def get_client(cluster=None):
        return client(pages)

    server.get_client = get_client
    begun = time.monotonic()
    jobs = [path.rpartition("/")[2] for path in pages if re.fullmatch(r"/jobs/[0-9a-f]{32}", path)]
    found = [await server.diagnose_job(job, history="off") for job in jobs]
    return {"jobs": found, "seconds": time.monotonic() - begun}


if __name__ == "__main__":
    json.dump({case: asyncio.run(ask(pages)) for case, pages in json.load(sys.stdin).items()}, sys.stdout)
