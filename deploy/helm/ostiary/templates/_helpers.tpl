{{- define "ostiary.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "ostiary.selectorLabels" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "ostiary.serverLabels" -}}
{{ include "ostiary.selectorLabels" . }}
app.kubernetes.io/component: server
{{- end -}}

{{- define "ostiary.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "ostiary.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "ostiary.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "ostiary.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}
{{- end -}}

{{/* The name of the ConfigMap with the catalog file; empty without one. */}}
{{- define "ostiary.catalog" -}}
{{- if .Values.catalog.existingConfigMap -}}
{{- .Values.catalog.existingConfigMap -}}
{{- else if .Values.catalog.content -}}
{{- printf "%s-catalog" (include "ostiary.fullname" .) -}}
{{- end -}}
{{- end -}}

{{- define "ostiary.isReplicated" -}}
{{- if or .Values.autoscaling.enabled (gt (int .Values.replicaCount) 1) -}}true{{- end -}}
{{- end -}}

{{/* Settings that name the external stores. The Job of the migrations has them, too. */}}
{{- define "ostiary.storeEnv" -}}
{{- with .Values.database }}
{{- if .existingSecret }}
- { name: DATABASE_URL_FILE, value: /run/secrets/database/url }
{{- end }}
{{- if .caSecret }}
- { name: DATABASE_CA_FILE, value: /run/secrets/database-ca/ca.crt }
{{- end }}
{{- end }}
{{- with .Values.redis }}
{{- if .existingSecret }}
- { name: REDIS_URL_FILE, value: /run/secrets/redis/url }
{{- end }}
{{- if .caSecret }}
- { name: REDIS_CA_FILE, value: /run/secrets/redis-ca/ca.crt }
{{- end }}
{{- if .prefix }}
- { name: OSTIARY_REDIS_PREFIX, value: {{ .prefix | quote }} }
{{- end }}
{{- end }}
{{- end -}}

{{/* A volume with one key of an existing Secret, as a file. */}}
{{- define "ostiary.secretVolume" -}}
- name: {{ .name }}
  secret:
    secretName: {{ .secret }}
    items: [{ key: {{ .key | quote }}, path: {{ .path | quote }} }]
    defaultMode: 0440
{{- end -}}

{{- define "ostiary.storeVolumes" -}}
{{- with .Values.database }}
{{- if .existingSecret }}
{{ include "ostiary.secretVolume" (dict "name" "database" "secret" .existingSecret "key" .key "path" "url") }}
{{- end }}
{{- if .caSecret }}
{{ include "ostiary.secretVolume" (dict "name" "database-ca" "secret" .caSecret "key" .caKey "path" "ca.crt") }}
{{- end }}
{{- end }}
{{- with .Values.redis }}
{{- if .existingSecret }}
{{ include "ostiary.secretVolume" (dict "name" "redis" "secret" .existingSecret "key" .key "path" "url") }}
{{- end }}
{{- if .caSecret }}
{{ include "ostiary.secretVolume" (dict "name" "redis-ca" "secret" .caSecret "key" .caKey "path" "ca.crt") }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "ostiary.storeMounts" -}}
{{- with .Values.database }}
{{- if .existingSecret }}
- { name: database, mountPath: /run/secrets/database, readOnly: true }
{{- end }}
{{- if .caSecret }}
- { name: database-ca, mountPath: /run/secrets/database-ca, readOnly: true }
{{- end }}
{{- end }}
{{- with .Values.redis }}
{{- if .existingSecret }}
- { name: redis, mountPath: /run/secrets/redis, readOnly: true }
{{- end }}
{{- if .caSecret }}
- { name: redis-ca, mountPath: /run/secrets/redis-ca, readOnly: true }
{{- end }}
{{- end }}
{{- end -}}

{{- define "ostiary.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
fsGroupChangePolicy: OnRootMismatch
seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{- define "ostiary.containerSecurityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end -}}
