# Stand-ins for images that no registry can serve (stand-ins.mjs), with the users, directories and
# entry points of the official images. `gateway.stand-in` names the packages.
ARG DEBIAN

FROM ${DEBIAN} AS node
LABEL gateway.stand-in="npm: node-linux"
COPY node/ /usr/local/
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm && ln -s ../lib/node_modules/npm/bin/npx-cli.js /usr/local/bin/npx
CMD ["node"]

FROM ${DEBIAN} AS collector
LABEL gateway.stand-in="Go: opentelemetry-collector"
COPY collector/otelcol-contrib /otelcol-contrib
USER 10001
EXPOSE 4317 4318
ENTRYPOINT ["/otelcol-contrib"]
CMD ["--config", "/etc/otelcol-contrib/config.yaml"]

FROM ${DEBIAN} AS servers
ARG DEBIAN_FRONTEND=noninteractive
RUN groupadd -r -o -g 999 postgres && useradd -r -o -u 999 -g postgres -d /var/lib/postgresql -s /bin/bash postgres && \
  groupadd -r -o -g 999 redis && useradd -r -o -u 999 -g redis redis && \
  mkdir -p /etc/postgresql-common && echo 'create_main_cluster = false' > /etc/postgresql-common/createcluster.conf && \
  printf '#!/bin/sh\nexit 101\n' > /usr/sbin/policy-rc.d && chmod +x /usr/sbin/policy-rc.d && \
  apt-get update && apt-get install -y --no-install-recommends -o Dpkg::Options::=--force-confold \
    postgresql-15 redis-server prometheus prometheus-alertmanager wget && \
  rm -rf /var/lib/apt/lists/* /var/cache/apt/archives /var/lib/postgresql/* && \
  ln -s prometheus-alertmanager /usr/bin/alertmanager
COPY stand-in.sh /usr/local/bin/docker-entrypoint.sh
ENTRYPOINT ["docker-entrypoint.sh"]

FROM servers AS postgres
LABEL gateway.stand-in="Debian: postgresql-15"
ENV STAND_IN=postgres LANG=C.UTF-8 PGDATA=/var/lib/postgresql/15/docker PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/lib/postgresql/15/bin
RUN install -d -o postgres -g postgres -m 1777 /var/lib/postgresql && install -d -o postgres -g postgres -m 3777 /var/run/postgresql
VOLUME /var/lib/postgresql
STOPSIGNAL SIGINT
EXPOSE 5432
CMD ["postgres"]

FROM servers AS redis
LABEL gateway.stand-in="Debian: redis-server"
ENV STAND_IN=redis
RUN install -d -o redis -g redis /data
VOLUME /data
WORKDIR /data
EXPOSE 6379
CMD ["redis-server"]

FROM servers AS caddy
LABEL gateway.stand-in="Go: caddy"
COPY caddy/caddy /usr/bin/
ENV XDG_CONFIG_HOME=/config XDG_DATA_HOME=/data
RUN mkdir -p /config/caddy /data/caddy /srv
WORKDIR /srv
EXPOSE 80 443 2019
ENTRYPOINT []
CMD ["caddy", "run", "--config", "/etc/caddy/Caddyfile", "--adapter", "caddyfile"]

FROM servers AS prometheus
LABEL gateway.stand-in="Debian: prometheus"
RUN install -d -o nobody -g nogroup /prometheus
USER nobody
VOLUME /prometheus
WORKDIR /prometheus
EXPOSE 9090
ENTRYPOINT ["/bin/prometheus"]
CMD ["--config.file=/etc/prometheus/prometheus.yml", "--storage.tsdb.path=/prometheus"]

FROM servers AS alertmanager
LABEL gateway.stand-in="Debian: prometheus-alertmanager"
RUN install -d -o nobody -g nogroup /alertmanager
USER nobody
VOLUME /alertmanager
WORKDIR /alertmanager
EXPOSE 9093
ENTRYPOINT ["/bin/alertmanager"]
CMD ["--config.file=/etc/alertmanager/alertmanager.yml", "--storage.path=/alertmanager"]

FROM servers AS nats
LABEL gateway.stand-in="Go: nats-server"
ENV STAND_IN=nats
COPY nats/nats-server /usr/local/bin/
RUN printf 'http: 8222\n' > /etc/nats-server.conf
EXPOSE 4222 8222 6222
CMD ["nats-server", "--config", "/etc/nats-server.conf"]
