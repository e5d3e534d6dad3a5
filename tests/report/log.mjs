// An audit log as docs/audit.md describes it: so many records, each an hour's fraction after the one before.
const RULES = ['replicas-range', 'bootstrap-peer-url-scheme', 'ports', 'replicas-no-shrink'];
const USERS = ['alice', 'system:serviceaccount:flux-system:kustomize-controller', 'system:serviceaccount:argocd:argocd-application-controller'];

export const HOSTILE = '<script>window.broken = true</script><img src=x onerror="window.broken = true">\u202e\u2028';

export function log(count) {
  const lines = [];
  for (let number = 0; number < count; number++) lines.push(JSON.stringify(record(number, count)));
  return lines.map((line) => `${line}\n`).join('');
}

function record(number, count) {
  const rule = RULES[Math.floor(Math.sqrt(number)) % RULES.length];
  const namespace = number === 1 ? HOSTILE : `team-${number % 40}`;
  const update = rule === 'replicas-no-shrink';
  const time = new Date(Date.UTC(2026, 10, 22, 8) + Math.floor((number / count) * 7 * 24 * 3600 * 1000));
  return {
    time: time.toISOString(),
    stage: 'validate',
    decision: number % 9 === 8 ? 'warned' : 'rejected',
    uid: `${number.toString(16).padStart(8, '0')}-6393-11e8-b7cc-42010a800002`,
    operation: update ? 'UPDATE' : 'CREATE',
    object: { namespace, name: `etcd-${number % 500}`, hash: '00' },
    user: { name: number === 1 ? HOSTILE : USERS[number % USERS.length], groups: ['system:authenticated'] },
    dryRun: number % 20 === 0,
    code: 422,
    violations: [{ rule, field: 'spec.replicas', cause: 'FieldValueInvalid', message: `Invalid value: -${number}: must not be negative; write 0 or more` }],
    warnings: number % 3 ? [] : ['2 members tolerate no more failures than 1 does [even-replicas]'],
    manifest: {
      apiVersion: 'druid.gardener.cloud/v1alpha1',
      kind: 'Etcd',
      metadata: { name: `etcd-${number % 500}`, namespace, annotations: { note: number === 1 ? HOSTILE : 'none' } },
      spec: { replicas: -number, labels: { app: 'etcd' }, backup: {}, etcd: { quota: '8Gi', serverPort: 2380 } },
    },
    ...(update ? { before: [{ path: '/spec/replicas', value: 3 }] } : {}),
    durationMicros: 120,
  };
}
