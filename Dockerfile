# The image of the service. It holds no database: name one in STOA_DATABASE_URL.
#   docker build -t stoa .
# Both images can be replaced, for example by those of your own registry.
ARG BUILD_IMAGE=docker.io/library/node:24-bookworm-slim
ARG RUN_IMAGE=docker.io/library/debian:bookworm-slim
# The client of the database, for `stoa backup`. For MySQL, name an image and a package that have mysqldump, for example
# RUN_IMAGE=docker.io/library/ubuntu:24.04 and CLIENT_PACKAGE=mysql-client.
ARG CLIENT_PACKAGE=mariadb-client

FROM ${BUILD_IMAGE} AS build
WORKDIR /opt/stoa
COPY package.json package-lock.json ./
# The lock file pins the Node.js that the service runs on.
RUN npm ci --omit=dev --include=optional --ignore-scripts --engine-strict=false --no-audit --no-fund \
    && ln -sfn "../$(ls node_modules | grep ^node-linux-)/bin/node" node_modules/.bin/node \
    && node_modules/.bin/node --version
COPY src ./src
COPY gen ./gen
COPY deploy/healthcheck.mjs ./deploy/healthcheck.mjs

FROM ${RUN_IMAGE}
ARG CLIENT_PACKAGE
RUN apt-get update \
    && apt-get install -y --no-install-recommends "$CLIENT_PACKAGE" \
    && rm -rf /var/lib/apt/lists/*
RUN groupadd --gid 10001 stoa \
    && useradd --uid 10001 --gid stoa --home-dir /var/lib/stoa --no-create-home --shell /usr/sbin/nologin stoa \
    && install -d -o stoa -g stoa -m 0700 /var/lib/stoa
COPY --from=build /opt/stoa /opt/stoa
WORKDIR /opt/stoa
# MALLOC_…: see "The flags of npm start" in docs/benchmarks.md. There is no NODE_COMPILE_CACHE: a new container has nothing to
# read there, and its file system may be read-only.
ENV STOA_HOST=0.0.0.0 \
    STOA_PORT=8080 \
    STOA_METRICS_HOST=0.0.0.0 \
    STOA_DATA_DIR=/var/lib/stoa \
    MALLOC_MMAP_THRESHOLD_=16384 \
    PATH=/opt/stoa/node_modules/.bin:$PATH
USER 10001:10001
# The guard of the ledger's head, and the folder of the log. Each replica needs a volume of its own.
VOLUME /var/lib/stoa
EXPOSE 8080 9464
STOPSIGNAL SIGTERM
# /healthz says that the process runs. Readiness (/readyz) is for the load balancer.
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s --retries=3 \
    CMD ["node", "deploy/healthcheck.mjs"]
ENTRYPOINT ["node", "--disable-warning=ExperimentalWarning", "--max-old-space-size=256", "--max-semi-space-size=8", "--no-allocation-site-pretenuring", "--heap-growing-percent=50"]
CMD ["src/main.ts"]
