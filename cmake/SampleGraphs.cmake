# Builds the sample graphs as a user would: against the installed headers and nothing else of this
# tree.
install(DIRECTORY ${CMAKE_SOURCE_DIR}/engine/include/agent_graph DESTINATION include COMPONENT sdk
        FILES_MATCHING PATTERN "*.h")
file(GLOB schemas CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/conf/*.schema.json)
install(FILES ${schemas} DESTINATION share/agent-graph COMPONENT sdk)

set(sdk ${CMAKE_BINARY_DIR}/sdk)
file(GLOB sdk_headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/engine/include/agent_graph/*.h)
add_custom_command(OUTPUT ${sdk}/installed
  COMMAND ${CMAKE_COMMAND} --install ${CMAKE_BINARY_DIR} --component sdk --prefix ${sdk} >
          ${CMAKE_BINARY_DIR}/sdk-install.log
  COMMAND ${CMAKE_COMMAND} -E touch ${sdk}/installed
  DEPENDS ${sdk_headers} ${schemas}
  COMMENT "Installing the SDK headers" VERBATIM)
add_custom_target(sdk DEPENDS ${sdk}/installed)

set(graph_flags -std=c++20 -O2 -Wall -Wextra -fPIC)
if(AGENT_GRAPH_SANITIZER STREQUAL "thread")
  list(APPEND graph_flags -g -fsanitize=thread)
elseif(AGENT_GRAPH_SANITIZER STREQUAL "address")
  list(APPEND graph_flags -g -fsanitize=address,undefined -fno-sanitize-recover=undefined)
endif()

# agent_graph_sample(SOURCE OUTPUT)   Compiles and links in two steps, because ccache does not cache
# a command that does both.
function(agent_graph_sample source output)
  get_filename_component(directory ${output} DIRECTORY)
  get_filename_component(name ${source} NAME_WE)
  set(object ${CMAKE_BINARY_DIR}/graph_objects/${name}.o)
  file(MAKE_DIRECTORY ${directory} ${CMAKE_BINARY_DIR}/graph_objects)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} ${CMAKE_CXX_COMPILER} ${graph_flags} -I${sdk}/include
            -c ${source} -o ${object}
    COMMAND ${CMAKE_CXX_COMPILER} ${graph_flags} -shared ${object} -o ${output}
    DEPENDS ${source} ${sdk}/installed
    COMMENT "Building graph ${output}" VERBATIM)
endfunction()

set(graphs ${CMAKE_BINARY_DIR}/graphs)
set(sample_outputs)
set(sample_texts)
file(GLOB samples CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/conf/graphs/*.cc)
foreach(sample ${samples})
  get_filename_component(name ${sample} NAME_WE)
  agent_graph_sample(${sample} ${graphs}/${name}.so)
  list(APPEND sample_outputs ${graphs}/${name}.so)
endforeach()
file(GLOB samples CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/conf/graphs/*.json)
foreach(sample ${samples})
  get_filename_component(name ${sample} NAME)
  add_custom_command(OUTPUT ${graphs}/${name}
    COMMAND ${CMAKE_COMMAND} -E copy ${sample} ${graphs}/${name}
    DEPENDS ${sample} VERBATIM)
  list(APPEND sample_texts ${graphs}/${name})
endforeach()
agent_graph_sample(${CMAKE_SOURCE_DIR}/conf/auth/api_keys.cc ${CMAKE_BINARY_DIR}/auth/api_keys.so)
add_custom_target(sample_texts DEPENDS ${sample_texts})
add_custom_target(sample_graphs ALL DEPENDS ${CMAKE_BINARY_DIR}/auth/api_keys.so ${sample_outputs})
add_dependencies(sample_graphs sample_texts)

# The graph of the benchmarks that send requests.
agent_graph_sample(${CMAKE_SOURCE_DIR}/bench/graph.cc ${CMAKE_BINARY_DIR}/bench/graph.so)
add_custom_target(bench_graph ALL DEPENDS ${CMAKE_BINARY_DIR}/bench/graph.so)

# Graphs that are used by tests only.
if(AGENT_GRAPH_TESTS)
  set(test_graphs ${CMAKE_BINARY_DIR}/t/graphs)
  set(outputs)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/t/graphs/*.cc)
  foreach(source ${sources})
    get_filename_component(name ${source} NAME_WE)
    agent_graph_sample(${source} ${test_graphs}/${name}.so)
    list(APPEND outputs ${test_graphs}/${name}.so)
  endforeach()
  add_custom_target(test_graphs DEPENDS ${outputs})
  add_dependencies(unit_tests test_graphs)
  foreach(test test_engine_graph test_src_auth test_src_service)
    if(TARGET ${test})
      add_dependencies(${test} test_graphs sample_graphs)
      target_compile_definitions(${test} PRIVATE
        AGENT_GRAPH_TEST_GRAPHS="${test_graphs}" AGENT_GRAPH_SAMPLE_GRAPHS="${graphs}"
        AGENT_GRAPH_SAMPLE_AUTH="${CMAKE_BINARY_DIR}/auth"
        AGENT_GRAPH_SOURCE="${CMAKE_SOURCE_DIR}")
    endif()
  endforeach()
endif()
