# find_package(agent-graph) defines the headers as a target, and a function for graphs:
#
#   find_package(agent-graph 0.2 REQUIRED)
#   agent_graph_add_graph(support support.cc)     # builds support.so
#   target_link_libraries(my_tests PRIVATE agent-graph::testing)     # agent_graph/testing.h
include(CMakeFindDependencyMacro)
find_dependency(nlohmann_json)

if(NOT TARGET agent-graph::sdk)
  get_filename_component(agent_graph_prefix ${CMAKE_CURRENT_LIST_DIR}/../../.. ABSOLUTE)
  add_library(agent-graph::sdk INTERFACE IMPORTED)
  set_target_properties(agent-graph::sdk PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES ${agent_graph_prefix}/include
    INTERFACE_COMPILE_FEATURES cxx_std_20
    INTERFACE_LINK_LIBRARIES nlohmann_json::nlohmann_json)
  set(agent_graph_testing ${agent_graph_prefix}/lib/agent-graph/libagent_graph_testing.so)
  if(EXISTS ${agent_graph_testing})
    add_library(agent-graph::testing SHARED IMPORTED)
    set_target_properties(agent-graph::testing PROPERTIES
      IMPORTED_LOCATION ${agent_graph_testing}
      INTERFACE_LINK_LIBRARIES agent-graph::sdk)
  endif()
endif()

# The module, which loads the graph, contains the functions that the headers declare. So nothing is
# linked.
function(agent_graph_add_graph name)
  add_library(${name} MODULE ${ARGN})
  set_target_properties(${name} PROPERTIES PREFIX "" SUFFIX .so CXX_EXTENSIONS OFF)
  target_link_libraries(${name} PRIVATE agent-graph::sdk)
endfunction()
