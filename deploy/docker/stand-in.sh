#!/bin/bash
# Entry point of the stand-ins (stand-ins.mjs): what compose, chart and tests use of the official
# entry points of PostgreSQL, Redis and NATS. As root, it changes to the server's user.
set -e
program=$STAND_IN-server
[ "$STAND_IN" != postgres ] || program=postgres
case "$1" in -* | *.conf) set -- "$program" "$@" ;; esac
[ "$1" = "$program" ] || exec "$@"

if [ "$STAND_IN" = postgres ] && [ -n "$POSTGRES_PASSWORD_FILE" ]; then
  POSTGRES_PASSWORD=$(cat "$POSTGRES_PASSWORD_FILE")
  export POSTGRES_PASSWORD
  unset POSTGRES_PASSWORD_FILE
fi
if [ "$(id -u)" = 0 ] && [ "$STAND_IN" != nats ]; then
  data=${PGDATA:-.}
  mkdir -p "$data"
  find "$data" \! -user "$STAND_IN" -exec chown "$STAND_IN" '{}' +
  [ "$STAND_IN" != postgres ] || chown postgres /var/run/postgresql
  exec setpriv --reuid="$STAND_IN" --regid="$STAND_IN" --clear-groups "$0" "$@"
fi
if [ "$STAND_IN" = postgres ] && [ ! -s "$PGDATA/PG_VERSION" ]; then
  mkdir -p "$PGDATA"
  chmod 700 "$PGDATA"
  user=${POSTGRES_USER:-postgres}
  database=${POSTGRES_DB:-$user}
  # shellcheck disable=SC2086
  initdb -D "$PGDATA" --username="$user" --pwfile=<(echo "${POSTGRES_PASSWORD:?}") $POSTGRES_INITDB_ARGS
  echo "listen_addresses = '*'" >> "$PGDATA/postgresql.conf"
  echo 'host all all all scram-sha-256' >> "$PGDATA/pg_hba.conf"
  pg_ctl -D "$PGDATA" -w -o "-c listen_addresses=''" start
  [ "$database" = postgres ] || psql -v ON_ERROR_STOP=1 -U "$user" -d postgres -c "CREATE DATABASE \"$database\""
  pg_ctl -D "$PGDATA" -m fast -w stop
  unset POSTGRES_PASSWORD
fi
[ "$STAND_IN" != redis ] || umask 0077
exec "$@"
