# Sourced by .ci/run: makes sure that the tests have a given PostgreSQL.
#
# One that runs already is used as it is. Else a throwaway server is started from the machine's own programs, which apt
# installs where there are none; no cluster or setting of the machine is touched. It ends with the script.

given_postgres_directory=''

ensure_given_postgres() {
  if [ -n "${TICKETING_PG_URL:-}" ]; then
    echo 'PostgreSQL: the one that TICKETING_PG_URL names.'
  elif port_answers 5432; then
    echo 'PostgreSQL: the one at 127.0.0.1:5432.'
  else
    echo 'PostgreSQL: none at 127.0.0.1:5432, so a throwaway server is started.'
    local programs
    programs=$(postgres_programs) || { install_postgres && programs=$(postgres_programs); }
    start_given_postgres "$programs"
  fi
}

port_answers() {
  (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

# Prints the directory of PostgreSQL's programs: of version 15, the oldest that is supported, or else of any.
postgres_programs() {
  local directory
  for directory in /usr/lib/postgresql/15/bin /usr/lib/postgresql/*/bin; do
    if [ -x "$directory/postgres" ]; then
      echo "$directory"
      return 0
    fi
  done
  return 1
}

install_postgres() {
  local as_root=()
  [ "$(id -u)" = 0 ] || as_root=(sudo -n)
  if ! command -v apt-get >/dev/null; then
    echo 'PostgreSQL is missing, and so is apt-get to install it. Start one and name it in TICKETING_PG_URL.' >&2
    return 1
  fi
  echo 'PostgreSQL: installing it with apt-get.'
  "${as_root[@]}" apt-get update -qq
  local package=postgresql-15
  [ -n "$(apt-cache madison "$package")" ] || package=postgresql
  if ! "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$package" >/dev/null; then
    echo "PostgreSQL could not be installed (apt-get install $package). Start one and name it in TICKETING_PG_URL." >&2
    return 1
  fi
}

start_given_postgres() {
  local programs=$1 port as_server=()
  # PostgreSQL refuses to run as root.
  [ "$(id -u)" != 0 ] || as_server=(runuser -u postgres --)
  port=$(node -e 'const s = net.createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close() })')
  given_postgres_directory=$(mktemp -d)
  [ "$(id -u)" != 0 ] || chown postgres "$given_postgres_directory"
  (
    cd "$given_postgres_directory"
    "${as_server[@]}" "$programs/initdb" -D data -U postgres -A trust -E UTF8 --no-locale --no-sync >initdb.log ||
      { cat initdb.log >&2; exit 1; }
    "${as_server[@]}" "$programs/pg_ctl" -D data -l server.log -w \
      -o "-p $port -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_prepared_transactions=50" start >/dev/null ||
      { cat server.log >&2; exit 1; }
  ) || { echo 'PostgreSQL could not be started; its own words are above.' >&2; return 1; }
  stop_given_postgres_as=("${as_server[@]}" "$programs/pg_ctl")
  trap stop_given_postgres EXIT
  export TICKETING_PG_URL="postgresql://postgres@127.0.0.1:$port/postgres"
}

stop_given_postgres() {
  (cd "$given_postgres_directory" && "${stop_given_postgres_as[@]}" -D data -m fast -w stop >/dev/null)
  rm -rf "$given_postgres_directory"
}
