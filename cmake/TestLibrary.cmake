# libagent_graph_testing.so: tests of users' graphs link it (agent_graph/testing.h). The tests of the
# sample graphs are built as a user would build them: against the installed headers and this library.
add_library(agent_graph_testing SHARED)
agent_graph_link(agent_graph_testing engine/testing)
set(testing_exports ${CMAKE_SOURCE_DIR}/engine/testing/exports.map)
target_link_options(agent_graph_testing PRIVATE -Wl,--version-script=${testing_exports} -Wl,-z,defs)
set_target_properties(agent_graph_testing PROPERTIES LINKER_LANGUAGE CXX LINK_DEPENDS ${testing_exports}
                      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
if(AGENT_GRAPH_SANITIZER)
  # The sanitizer's own symbols are in the program.
  set_target_properties(agent_graph_testing PROPERTIES LINK_OPTIONS
                        -Wl,--version-script=${testing_exports})
endif()

if(AGENT_GRAPH_TESTS)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/conf/graphs/tests/*.cc)
  add_executable(test_sample_graphs EXCLUDE_FROM_ALL ${sources})
  add_dependencies(test_sample_graphs sdk sample_graphs)
  target_include_directories(test_sample_graphs PRIVATE ${CMAKE_BINARY_DIR}/sdk/include)
  target_link_libraries(test_sample_graphs PRIVATE agent_graph_flags agent_graph_testing
                        GTest::gtest GTest::gmock GTest::gtest_main)
  target_compile_definitions(test_sample_graphs PRIVATE SAMPLE_GRAPHS="${CMAKE_BINARY_DIR}/graphs/")
  target_compile_options(test_sample_graphs PRIVATE $<$<CONFIG:Release>:-O0>)
  gtest_discover_tests(test_sample_graphs DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 900)
  add_dependencies(unit_tests test_sample_graphs)
endif()
