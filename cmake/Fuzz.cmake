# Fuzzers, built by a clang with -DAGENT_GRAPH_FUZZ=ON (see `make fuzz`). Each is t/fuzz/<name>_fuzz.cc
# linked with one folder and what that depends on; seeds are in t/fuzz/corpus/<name>.
function(agent_graph_fuzzer name folder)
  string(REPLACE "/" "_" folder ${folder})
  get_target_property(closure ${folder} AGENT_GRAPH_CLOSURE)
  get_target_property(libraries ${folder} AGENT_GRAPH_LIBRARIES)
  add_executable(fuzz_${name} EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/t/fuzz/${name}_fuzz.cc)
  foreach(object ${closure})
    target_sources(fuzz_${name} PRIVATE $<TARGET_OBJECTS:${object}>)
  endforeach()
  target_include_directories(fuzz_${name} PRIVATE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/engine
                             ${CMAKE_SOURCE_DIR}/engine/include)
  target_link_libraries(fuzz_${name} PRIVATE agent_graph_flags ${libraries})
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  add_dependencies(fuzzers fuzz_${name})
endfunction()

add_custom_target(fuzzers)
target_compile_options(agent_graph_flags INTERFACE -fsanitize=fuzzer-no-link)
agent_graph_fuzzer(websocket src/websocket)
agent_graph_fuzzer(handshake src/websocket)
agent_graph_fuzzer(jwt src/auth)
agent_graph_fuzzer(multipart src/multipart)
