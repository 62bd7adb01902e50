# Fuzzers. Each one is t/fuzz/<name>_fuzz.cc, linked with one folder and its dependencies; its seeds
# are in t/fuzz/corpus/<name>. The programs need clang and -DAGENT_GRAPH_FUZZ=ON (see `make fuzz`).
# The unit tests contain the same entry functions, each under a name of its own, and run them on the
# seeds.
set(AGENT_GRAPH_FUZZERS websocket handshake jwt agui mcp mcp_server events multipart openai responses
    request state_protocol)
set(fuzzed_websocket src/websocket)
set(fuzzed_handshake src/websocket)
set(fuzzed_jwt src/auth)
set(fuzzed_mcp src/facades/mcp)
set(fuzzed_mcp_server engine/tools/mcp)
set(fuzzed_events engine/net)
set(fuzzed_multipart src/multipart)
set(fuzzed_openai src/facades/openai)
set(fuzzed_responses src/facades/openai)
set(fuzzed_agui src/facades/agui)
set(fuzzed_request src/api)
set(fuzzed_state_protocol engine/state/gateway/wire)

if(AGENT_GRAPH_FUZZ)
  add_custom_target(fuzzers)
  target_compile_options(agent_graph_flags INTERFACE -fsanitize=fuzzer-no-link)
  foreach(name ${AGENT_GRAPH_FUZZERS})
    add_executable(fuzz_${name} EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/t/fuzz/${name}_fuzz.cc)
    agent_graph_link(fuzz_${name} ${fuzzed_${name}})
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    add_dependencies(fuzzers fuzz_${name})
  endforeach()
elseif(AGENT_GRAPH_TESTS)
  set(sources ${CMAKE_SOURCE_DIR}/t/fuzz/corpus_test.cc)
  set(folders)
  set(rows)
  foreach(name ${AGENT_GRAPH_FUZZERS})
    set(source ${CMAKE_SOURCE_DIR}/t/fuzz/${name}_fuzz.cc)
    set_source_files_properties(${source} PROPERTIES
                                COMPILE_DEFINITIONS LLVMFuzzerTestOneInput=Fuzz_${name})
    list(APPEND sources ${source})
    list(APPEND folders ${fuzzed_${name}})
    string(APPEND rows "FUZZER(${name})")
  endforeach()
  agent_graph_unit_test(test_fuzz FOLDERS ${folders} SOURCES ${sources})
  set_source_files_properties(${CMAKE_SOURCE_DIR}/t/fuzz/corpus_test.cc PROPERTIES
    COMPILE_DEFINITIONS "AGENT_GRAPH_FUZZERS=${rows};AGENT_GRAPH_CORPUS=\"${CMAKE_SOURCE_DIR}/t/fuzz/corpus\"")
endif()
