# The service and its commands in one image:
#   docker run -p 3000:3000 -v items:/data -e LOG_FORMAT=pretty <image>   the service, on its embedded database
#   docker run -e DATABASE_URL=… <image> dist/cli.js migrate              a command
#
# Any image with Node 26 and npm does, such as a mirror's, or one pinned by digest.
ARG NODE_IMAGE=docker.io/library/node:26-slim

# No dependency needs its install script, so none gets to run one. An .npmrc that the registry asks for is passed as the
# secret `npmrc` (`--secret id=npmrc,src=…`) and leaves no trace in a layer.
FROM ${NODE_IMAGE} AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
# `optional` leaves out the compiler, an optional peer that --omit=dev alone would keep. Source maps and type declarations
# are half of what is left, and only compilers and debuggers read them.
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc \
    npm ci --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund \
    && find node_modules -type f \( -name '*.map' -o -name '*.ts' -o -name '*.mts' -o -name '*.cts' \) -delete

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc \
    npm ci --ignore-scripts --no-audit --no-fund
COPY nest-cli.json tsconfig.json tsconfig.build.json ./
COPY tools/bundle.js tools/
COPY src src
RUN npm run build && install -d -o 65532 -g 65532 dist/.cache
# Fills Node's compile cache for the user that runs the service, because its file system may be read-only.
USER 65532:65532
RUN node dist/cli.js openapi > /dev/null

FROM ${NODE_IMAGE}
# Package managers are for building: at run time they only help an intruder.
RUN rm -rf /usr/local/lib/node_modules /opt/yarn-* \
    && cd /usr/local/bin && rm -f npm npx yarn yarnpkg corepack
WORKDIR /app
# A named volume mounted here takes over the owner. No VOLUME: it would leave an anonymous one behind on every run.
RUN install -d -o 65532 -g 65532 -m 700 /data
ENV NODE_ENV=production DATA_DIR=/data
# Code belongs to root: the service can read it and not change it.
COPY --from=dependencies /app/node_modules node_modules
COPY --from=build --chown=0:0 /app/dist dist
COPY package.json ./

# A number, so that Kubernetes can tell that it is not root (runAsNonRoot).
USER 65532:65532
EXPOSE 3000 9464
# Exec form: Node is process 1 and gets SIGTERM itself. It handles it, and starts no processes that it would have to reap, so
# no init is needed. SIGUSR1 would open the inspector, which runs any code. No HEALTHCHECK: /livez and /readyz are for the
# orchestrator, and a second judge would disagree with it.
ENTRYPOINT ["node", "--disable-sigusr1"]
CMD ["dist/main.js"]

# Last, because they change with every build and would invalidate the layers above.
ARG VERSION=unknown
ARG REVISION=unknown
ARG CREATED=1970-01-01T00:00:00Z
LABEL org.opencontainers.image.title="Items Service" \
      org.opencontainers.image.description="An HTTP/JSON service that manages a collection of items" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}"
