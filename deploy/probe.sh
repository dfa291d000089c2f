#!/bin/sh
# postrider-probe ready: exit code 0 if this gateway or worker has stored a heartbeat within the last half minute.
# postrider-probe live: the same, but 0 while the database does not answer, because a restart would not help.
name=${POSTRIDER_GATEWAY_NAME:-$(hostname)}
status=$(timeout 20 postrider gateway status --json 2>/dev/null)
code=$?
# 3: the database answers, and no gateway runs.
if [ "$code" != 0 ] && [ "$code" != 3 ]; then
  [ "$1" = live ]
  exit
fi
printf '%s\n' "$status" | grep -Eq "\"name\":\"$name\",[^}]*\"silent_since\":null"
