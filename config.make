# Sourced by nginx's auto/make: builds the object that the response files of config name, and
# agent-extract, which is looked for beside the module or the nginx that contains it.
cat << END >> $NGX_MAKEFILE

$NGX_OBJS/nginx$ngx_binext $NGX_OBJS/ngx_http_agent_graph_module.so: agent_graph

.PHONY: agent_graph
agent_graph:
	cmake -S "$ngx_addon_dir" -B "$NGX_OBJS/agent_graph" -G Ninja \\
		-DCMAKE_BUILD_TYPE=\$\${CMAKE_BUILD_TYPE:-Release} -DAGENT_GRAPH_TESTS=OFF \\
		-DNGINX_SOURCE_DIR="\$(CURDIR)" -DNGINX_OBJECT_DIR="\$(abspath $NGX_OBJS)" \\
		\$\$AGENT_GRAPH_CMAKE_FLAGS
	cmake --build "$NGX_OBJS/agent_graph" --target agent_graph_for_nginx agent_extract
	cp "$NGX_OBJS/agent_graph/agent-extract" "$NGX_OBJS/agent-extract"

END
