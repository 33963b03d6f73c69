# Serves a trained model: docker build -t margin . && docker run -p 8766:8766 -e MARGIN_SERVE_TOKEN=... -v $PWD/runs/houses:/model:ro margin
FROM python:3.12-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY pyproject.toml setup.py MANIFEST.in README.md LICENSE constraints.txt ./
COPY compiling compiling
COPY src src
RUN pip wheel --no-cache-dir --no-deps -w /wheels .

FROM python:3.12-slim
RUN useradd --create-home --uid 10001 margin
COPY constraints.txt /tmp/constraints.txt
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir -c /tmp/constraints.txt "$(ls /wheels/margin-*.whl)[lab]" && rm -r /wheels /tmp/constraints.txt
USER margin
EXPOSE 8766
HEALTHCHECK CMD ["python", "-c", "import os, urllib.request as u; u.urlopen(u.Request('http://127.0.0.1:8766/health', headers={'Authorization': 'Bearer ' + os.environ['MARGIN_SERVE_TOKEN']}))"]
ENTRYPOINT ["margin", "serve", "/model", "--address", "0.0.0.0"]
