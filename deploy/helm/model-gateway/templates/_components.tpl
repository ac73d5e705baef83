{{/*
What is known of each component beside its values: ports, the variables that its Secret holds, how long it may take to stop.
GATEWAY_DRAIN_MS and the steps after it must fit into the edge's grace (services/edge-proxy/src/service.ts).
*/}}
{{- define "gateway.components" -}}
edge-proxy:
  values: edgeProxy
  ports: { http: 8080 }
  secrets: [GATEWAY_NATS_URL, GATEWAY_KEY_PEPPER, GATEWAY_SOURCE_PRIVATE_KEY]
  graceSeconds: {{ add .Values.edgeProxy.drainSeconds 35 .Values.preStopSeconds }}
  environment:
    GATEWAY_HOST: 0.0.0.0
    GATEWAY_PORT: "8080"
    GATEWAY_PUBLIC_URL: {{ include "gateway.address" (dict "root" . "name" "publicUrl") | quote }}
    GATEWAY_DASHBOARD_URL: {{ include "gateway.address" (dict "root" . "name" "dashboardUrl") | quote }}
    {{- with .Values.billingLinkUrl }}
    GATEWAY_BILLING_LINK_URL: {{ . | quote }}
    {{- end }}
    GATEWAY_DRAIN_MS: {{ mul .Values.edgeProxy.drainSeconds 1000 | quote }}
    GATEWAY_STREAM_REPLICAS: {{ .Values.streamReplicas | quote }}
    GATEWAY_HTTP_KEEP_ALIVE_MS: {{ mul .Values.edgeProxy.keepAliveSeconds 1000 | quote }}
    {{- if .Values.edgeProxy.spoolClaim }}
    GATEWAY_USAGE_SPOOL_DIRECTORY: /var/spool/gateway
    {{- end }}
    {{- if ne (toString .Values.edgeProxy.proxies) "" }}
    GATEWAY_EDGE_PROXIES: {{ .Values.edgeProxy.proxies | quote }}
    {{- else }}
    GATEWAY_EDGE_PROXIES: {{ ternary "0" "1" (eq .Values.exposure.type "none") | quote }}
    {{- end }}
admission:
  values: admission
  ports: {}
  secrets: [GATEWAY_NATS_URL, GATEWAY_REDIS_URL]
  graceSeconds: 30
  environment:
    GATEWAY_STREAM_REPLICAS: {{ .Values.streamReplicas | quote }}
billing:
  values: billing
  ports: {}
  secrets: [GATEWAY_NATS_URL, GATEWAY_POSTGRES_URL, GATEWAY_WEBHOOK_PRIVATE_KEY]
  graceSeconds: 45
  environment:
    GATEWAY_STREAM_REPLICAS: {{ .Values.streamReplicas | quote }}
catalog:
  values: catalog
  ports: {}
  secrets: [GATEWAY_NATS_URL, GATEWAY_POSTGRES_URL]
  graceSeconds: 30
  environment:
    GATEWAY_STREAM_REPLICAS: {{ .Values.streamReplicas | quote }}
accounts:
  values: accounts
  ports: {}
  secrets: [GATEWAY_NATS_URL, GATEWAY_POSTGRES_URL{{ if .Values.accounts.smtp }}, GATEWAY_SMTP_URL{{ end }}]
  graceSeconds: 30
  environment:
    GATEWAY_STREAM_REPLICAS: {{ .Values.streamReplicas | quote }}
    GATEWAY_DASHBOARD_URL: {{ include "gateway.address" (dict "root" . "name" "dashboardUrl") | quote }}
dashboard:
  values: dashboard
  ports: { http: 8081 }
  secrets: [GATEWAY_NATS_URL, GATEWAY_KEY_PEPPER, GATEWAY_SOURCE_PUBLIC_KEY, GATEWAY_WEBHOOK_PUBLIC_KEY, GATEWAY_SESSION_SECRET, GATEWAY_OPERATOR_TOKEN]
  graceSeconds: {{ add 40 .Values.preStopSeconds }}
  environment:
    GATEWAY_DASHBOARD_LISTENERS: pages
    GATEWAY_DASHBOARD_HOST: 0.0.0.0
    GATEWAY_DASHBOARD_PORT: "8081"
    GATEWAY_DASHBOARD_URL: {{ include "gateway.address" (dict "root" . "name" "dashboardUrl") | quote }}
    {{- /* 0 is an answer, so it is not left to default. */}}
    {{- if ne (toString .Values.dashboard.proxies) "" }}
    GATEWAY_DASHBOARD_PROXIES: {{ .Values.dashboard.proxies | quote }}
    {{- else }}
    GATEWAY_DASHBOARD_PROXIES: {{ ternary "0" "1" (eq .Values.exposure.type "none") | quote }}
    {{- end }}
    GATEWAY_PUBLIC_URL: {{ include "gateway.address" (dict "root" . "name" "publicUrl") | quote }}
    GATEWAY_EDGE_URL: http://{{ include "gateway.fullname" . }}-edge-proxy:8080
{{- /* The operator API in processes of its own: load on the customers' pages does not reach it. */}}
operator:
  values: operator
  image: dashboard
  secret: dashboard
  ports: { operator: 8082 }
  secrets: [GATEWAY_NATS_URL, GATEWAY_KEY_PEPPER, GATEWAY_SOURCE_PUBLIC_KEY, GATEWAY_WEBHOOK_PUBLIC_KEY, GATEWAY_SESSION_SECRET, GATEWAY_OPERATOR_TOKEN]
  graceSeconds: {{ add 40 .Values.preStopSeconds }}
  environment:
    GATEWAY_DASHBOARD_LISTENERS: operator
    GATEWAY_OPERATOR_HOST: 0.0.0.0
    GATEWAY_OPERATOR_PORT: "8082"
    GATEWAY_DASHBOARD_URL: {{ include "gateway.address" (dict "root" . "name" "dashboardUrl") | quote }}
    GATEWAY_PUBLIC_URL: {{ include "gateway.address" (dict "root" . "name" "publicUrl") | quote }}
{{- end }}
