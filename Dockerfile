# The service and its commands in one image:
#   docker run -p 3000:3000 -v items:/data -e LOG_FORMAT=pretty <image>   the service, on its embedded database
#   docker run -e DATABASE_URL=… <image> dist/cli.js migrate              a command
#
# Any image with Node 26 and npm works, such as one from a mirror or pinned by digest.
ARG NODE_IMAGE=docker.io/library/node:26-slim

# Install scripts are not needed. For a private registry, pass an .npmrc as the secret `npmrc` (`--secret id=npmrc,src=…`), which
# is not stored in a layer.
FROM ${NODE_IMAGE} AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
# --omit=optional removes the compiler, an optional peer dependency. Source maps and type declarations are half of the rest, and
# only compilers and debuggers read them.
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc \
    npm ci --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund \
    && find node_modules -type f \( -name '*.map' -o -name '*.ts' -o -name '*.mts' -o -name '*.cts' \) -delete

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN --mount=type=secret,id=npmrc,target=/root/.npmrc \
    npm ci --ignore-scripts --no-audit --no-fund
COPY nest-cli.json tsconfig.json tsconfig.build.json ./
COPY src src
RUN npm run build && install -d -o 65532 -g 65532 dist/.cache
# Fills Node's compile cache for the user that runs the service, because its file system may be read-only.
USER 65532:65532
RUN node dist/cli.js openapi > /dev/null

FROM ${NODE_IMAGE}
# Package managers would only help an attacker.
RUN rm -rf /usr/local/lib/node_modules /opt/yarn-* \
    && cd /usr/local/bin && rm -f npm npx yarn yarnpkg corepack
WORKDIR /app
# A named volume mounted here inherits the owner. VOLUME would create an anonymous volume on every run.
RUN install -d -o 65532 -g 65532 -m 700 /data
ENV NODE_ENV=production DATA_DIR=/data
# The code belongs to root, so that the service cannot change it.
COPY --from=dependencies /app/node_modules node_modules
COPY --from=build --chown=0:0 /app/dist dist
COPY package.json ./

# A number, so that Kubernetes can verify runAsNonRoot.
USER 65532:65532
EXPOSE 3000 9464
# Exec form: Node is process 1, receives SIGTERM, and starts no child processes, so no init is needed. SIGUSR1 would open the
# inspector, which runs any code. No HEALTHCHECK: the orchestrator uses /livez and /readyz on port 9464.
ENTRYPOINT ["node", "--disable-sigusr1"]
CMD ["dist/main.js"]

# Last, because these values change with every build.
ARG VERSION=unknown
ARG REVISION=unknown
ARG CREATED=1970-01-01T00:00:00Z
LABEL org.opencontainers.image.title="Items Service" \
      org.opencontainers.image.description="An HTTP/JSON service that manages a collection of items" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}"
