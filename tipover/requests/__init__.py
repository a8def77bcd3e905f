"""Where requests come from: tables of a plan, a curl command line, a HAR file, an OpenAPI document."""
