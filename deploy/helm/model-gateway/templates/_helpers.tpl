{{/* At most 30 characters, so that the longest suffix and that of a pod fit into 63. */}}
{{- define "gateway.fullname" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 30 | trimSuffix "-" }}
{{- else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 30 | trimSuffix "-" }}{{ end }}
{{- end }}

{{/* Takes {root, name}. Selectors never change between releases. */}}
{{- define "gateway.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .name }}
{{- end }}

{{- define "gateway.labels" -}}
{{ include "gateway.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: model-gateway
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{/* Takes {root, image}. */}}
{{- define "gateway.image" -}}
{{ required "image.registry is empty: name the registry that holds your images (deploy/docker/README.md builds them; none is published)" .root.Values.image.registry }}/{{ .root.Values.image.repository }}/{{ .image }}:{{ .root.Values.image.tag | default .root.Chart.AppVersion }}
{{- end }}

{{- define "gateway.podSecurity" -}}
runAsNonRoot: true
{{- range $field := list "runAsUser" "runAsGroup" "fsGroup" }}
{{- $id := index $.Values.pod $field }}
{{- if ne (toString $id) "" }}
{{ $field }}: {{ $id }}
{{- end }}
{{- end }}
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "gateway.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{/* Takes {root, secrets}. Each secret is a file. Secrets in `secrets.previous` also have their previous value. */}}
{{- define "gateway.secretVariables" -}}
{{- $previous := .root.Values.secrets.previous }}
{{- range .secrets }}
- name: {{ . }}_FILE
  value: /run/secrets/gateway/{{ . }}
{{- if has . $previous }}
- name: {{ . }}_PREVIOUS_FILE
  value: /run/secrets/gateway/{{ . }}_PREVIOUS
{{- end }}
{{- end }}
{{- if or .root.Values.certificates.secret .root.Values.certificates.configMap }}
- name: NODE_EXTRA_CA_CERTS
  value: /run/certificates/{{ .root.Values.certificates.key }}
{{- end }}
{{- end }}

{{- define "gateway.mounts" -}}
- name: secrets
  mountPath: /run/secrets/gateway
  readOnly: true
{{- if or .Values.certificates.secret .Values.certificates.configMap }}
- name: certificates
  mountPath: /run/certificates
  readOnly: true
{{- end }}
{{- end }}

{{/* Takes {root, secret}, or {root, parts: [{from, keys}]} for some keys of Secrets. */}}
{{- define "gateway.volumes" -}}
- name: secrets
{{- /* The modes are 0440 as a decimal number, which all YAML parsers read alike. */}}
{{- if .parts }}
  projected:
    defaultMode: 288
    sources:
      {{- $previous := .root.Values.secrets.previous }}
      {{- range .parts }}
      - secret:
          name: {{ required "every job needs the names of its Secrets" .from }}
          items:
            {{- range .keys }}
            - { key: {{ . }}, path: {{ . }} }
            {{- if has . $previous }}
            - { key: {{ . }}_PREVIOUS, path: {{ . }}_PREVIOUS }
            {{- end }}
            {{- end }}
      {{- end }}
{{- else }}
  secret:
    secretName: {{ required "every component needs the name of its Secret" .secret }}
    # 0440 as a decimal number, which all YAML parsers read alike.
    defaultMode: 288
{{- end }}
{{- with .root.Values.certificates }}
{{- if .secret }}
- name: certificates
  secret: { secretName: {{ .secret }}, items: [{ key: {{ .key }}, path: {{ .key }} }] }
{{- else if .configMap }}
- name: certificates
  configMap: { name: {{ .configMap }}, items: [{ key: {{ .key }}, path: {{ .key }} }] }
{{- end }}
{{- end }}
{{- end }}

{{/* Takes {root, name, isSpread}. Zones are no spread constraint: if a node lacks the label of one constraint, the scheduler scores none of them. */}}
{{- define "gateway.affinity" -}}
{{- if .isSpread }}
podAntiAffinity:
  preferredDuringSchedulingIgnoredDuringExecution:
    - weight: 100
      podAffinityTerm:
        topologyKey: topology.kubernetes.io/zone
        labelSelector:
          matchLabels:
            {{- include "gateway.selector" . | nindent 12 }}
        {{- if semverCompare ">=1.31-0" .root.Capabilities.KubeVersion.Version }}
        matchLabelKeys: [pod-template-hash]
        {{- end }}
{{- end }}
{{- end }}

{{/* Takes {root, name, isSpread}. The fields of every pod except its containers. */}}
{{- define "gateway.scheduling" -}}
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ . }}
{{- end }}
{{- end }}
{{- with .root.Values.pod.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .root.Values.pod.serviceAccountName }}
serviceAccountName: {{ . }}
{{- end }}
{{- with include "gateway.affinity" . | fromYaml | merge (deepCopy .root.Values.pod.affinity) }}
affinity: {{ toJson . }}
{{- end }}
{{- with .root.Values.pod.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.pod.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Takes {root, name, way: from | to, peers}. To Kubernetes an empty list means all peers, so it must be allowed explicitly. */}}
{{- define "gateway.peers" -}}
{{- if and (not .peers) (not .root.Values.networkPolicy.allowAnyPeer) }}
{{- fail (print "networkPolicy." .name " is empty: name the peers, or allow all with networkPolicy.allowAnyPeer: true") }}
{{- end }}
{{- if .peers }}
{{ .way }}:
  {{- toYaml .peers | nindent 2 }}
{{- end }}
{{- end }}

{{/* Labels of a server that evaluation.enabled brings. Takes {root, name}. Other names than a component's: the policies of components do not apply. */}}
{{- define "gateway.serverSelector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}-{{ .name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .name }}
{{- end }}

{{/* Takes {root, name}: the URL of this value. An example address would be in emails, links and answers. */}}
{{- define "gateway.address" -}}
{{- $url := index .root.Values .name }}
{{- if regexMatch "(^|\\.)example\\.com$" ((urlParse $url).hostname) }}
{{- fail (printf "%s is the example %s: set the address at which %s" .name $url (ternary "clients reach the gateway" "people reach the dashboard" (eq .name "publicUrl"))) }}
{{- end }}
{{- $url }}
{{- end }}
