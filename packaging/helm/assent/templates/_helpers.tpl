{{/* Names and labels of the objects, the settings, and the common parts of the instances and the migration Job. */}}

{{- define "assent.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "assent.selectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "assent.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "assent.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "assent.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{- define "assent.serviceAccountName" -}}
{{- $own := ternary (include "assent.fullname" .) "default" .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default $own -}}
{{- end -}}

{{- define "assent.baseUrl" -}}
{{- $message := "baseUrl is required: the URL by which users reach Assent, such as https://id.example.org" -}}
{{- required $message .Values.baseUrl -}}
{{- end -}}

{{/* The settings as JSON: those of the value `settings`, and the keys that the chart sets. */}}
{{- define "assent.settings" -}}
{{- $settings := fromToml .Values.settings -}}
{{- if hasKey $settings "Error" -}}
{{- fail (printf "settings is not valid TOML: %s" $settings.Error) -}}
{{- end -}}
{{- $secret := "must not be in settings, because a ConfigMap is no place for a secret. Put it into the Secret of" -}}
{{- $replaced := dict
  "base_url" "must not be in settings. Set the value baseUrl"
  "http.listen" "must not be in settings. The port is 8080; set the value listenAddress for another address"
  "http.drain_time" "must not be in settings. Set the value drainSeconds"
  "metrics.listen" "must not be in settings. Set the value metrics.enabled"
  "database.url" (printf "%s secrets.databaseUrl" $secret)
  "database.migrate" "must not be in settings. It is \"manual\", and the migration Job applies migrations"
  "keys.master_key" (printf "%s secrets.masterKey" $secret)
  "keys.previous_master_key" (printf "%s secrets.masterKey, as its key previous-master-key" $secret)
  "keys.master_key_file" "must not be in settings. Put the master key into the Secret of secrets.masterKey"
  "mail.password" (printf "%s secrets.smtpPassword" $secret)
  "plugins.compiled_folder" "must not be in settings. The chart sets it to a folder of the pod"
-}}
{{- range $key, $text := $replaced -}}
{{- $path := splitList "." $key -}}
{{- $table := $settings -}}
{{- if eq (len $path) 2 -}}
{{- $table = get $settings (first $path) | default dict -}}
{{- end -}}
{{- if hasKey $table (last $path) -}}
{{- fail (printf "%s %s" $key $text) -}}
{{- end -}}
{{- end -}}
{{- $listen := .Values.listenAddress -}}
{{- $http := get $settings "http" | default dict -}}
{{- $_ := set $http "listen" (printf "%s:8080" $listen) -}}
{{- $_ := set $http "drain_time" (printf "%ds" (int .Values.drainSeconds)) -}}
{{- $database := get $settings "database" | default dict -}}
{{- $_ := set $database "migrate" "manual" -}}
{{- $plugins := get $settings "plugins" | default dict -}}
{{- $_ := set $plugins "compiled_folder" "/var/cache/assent/compiled" -}}
{{- $log := get $settings "log" | default dict -}}
{{- if not (hasKey $log "format") -}}
{{- $_ := set $log "format" "json" -}}
{{- end -}}
{{- $_ := set $settings "base_url" (include "assent.baseUrl" .) -}}
{{- $_ := set $settings "http" $http -}}
{{- $_ := set $settings "database" $database -}}
{{- $_ := set $settings "plugins" $plugins -}}
{{- $_ := set $settings "log" $log -}}
{{- if .Values.metrics.enabled -}}
{{- $metrics := get $settings "metrics" | default dict -}}
{{- $_ := set $metrics "listen" (printf "%s:9464" $listen) -}}
{{- $_ := set $settings "metrics" $metrics -}}
{{- end -}}
{{- toToml $settings -}}
{{- end -}}

{{/* HTTP, or HTTPS if the settings have [http.tls]. */}}
{{- define "assent.scheme" -}}
{{- $http := get (fromToml .Values.settings) "http" | default dict -}}
{{- ternary "HTTPS" "HTTP" (hasKey $http "tls") -}}
{{- end -}}

{{/* The data of the ConfigMaps of the instances and of the migration Job. */}}
{{- define "assent.configMapData" -}}
assent.toml: |
  # The chart creates this file from its values.
  {{- include "assent.settings" . | trim | nindent 2 }}
{{- end -}}

{{/*
secretKeyRef of one of `secrets`. Arguments: root, secret, what; optional: another key in that Secret, which may be
missing.
*/}}
{{- define "assent.secretKeyRef" -}}
{{- $reference := index .root.Values.secrets .secret -}}
{{- $message := printf "existingSecret is required (or secrets.%s.name): the name of the Secret with %s in its key %s"
  .secret .what $reference.key -}}
secretKeyRef:
  name: {{ $reference.name | default .root.Values.existingSecret | required $message }}
  key: {{ .optional | default $reference.key }}
  {{- if .optional }}
  optional: true
  {{- end }}
{{- end -}}

{{/* Environment variables with secrets for every command that reads the settings. */}}
{{- define "assent.environment" -}}
- name: ASSENT__DATABASE__URL
  valueFrom:
    {{- include "assent.secretKeyRef" (dict "root" . "secret" "databaseUrl" "what" "the URL of the database")
      | nindent 4 }}
{{- $mail := get (fromToml .Values.settings) "mail" | default dict }}
{{- if and (hasKey $mail "user") (not (hasKey $mail "password_file")) }}
- name: ASSENT__MAIL__PASSWORD
  valueFrom:
    {{- include "assent.secretKeyRef" (dict "root" . "secret" "smtpPassword" "what" "the password at the SMTP server")
      | nindent 4 }}
{{- end }}
{{- end -}}

{{/* The security of the pods: the user 10001 without any right, and a read-only root file system. */}}
{{- define "assent.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "assent.containerSecurityContext" -}}
allowPrivilegeEscalation: false
privileged: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/* The volumes and their mounts. Argument of the volumes: root, and the name of the ConfigMap. */}}
{{- define "assent.volumes" -}}
- name: config
  configMap:
    name: {{ .configMap }}
- name: cache
  emptyDir:
    sizeLimit: 256Mi
- name: tmp
  emptyDir:
    sizeLimit: 64Mi
{{- with .root.Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "assent.volumeMounts" -}}
# With subPath, so that extraVolumeMounts can add files to /etc/assent.
- name: config
  mountPath: /etc/assent/assent.toml
  subPath: assent.toml
  readOnly: true
# The server creates the folder for compiled plugins in it, because that folder must belong to its user.
- name: cache
  mountPath: /var/cache/assent
- name: tmp
  mountPath: /tmp
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Where the pods run. */}}
{{- define "assent.scheduling" -}}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
