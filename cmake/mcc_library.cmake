# mcc_library(NAME [EXCLUDE REGEX] LINK targets...): a static library of all sources below the
# current directory; an interface library while there are none. Adding a source needs no edit here.
function(mcc_library name)
  cmake_parse_arguments(ARG "" "EXCLUDE" "LINK;PRIVATE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  if(ARG_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX ${ARG_EXCLUDE})
  endif()
  if(sources)
    add_library(${name} STATIC ${sources})
    target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR})
    target_link_libraries(${name} PUBLIC ${ARG_LINK} PRIVATE ${ARG_PRIVATE})
  else()
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE ${CMAKE_SOURCE_DIR})
    target_link_libraries(${name} INTERFACE ${ARG_LINK})
  endif()
endfunction()

# mcc_embed(TARGET DIRECTORY): every file of DIRECTORY becomes a string constant
# mcc::skeletons::<file name with '.' as '_'> in the generated header "skeletons.h".
function(mcc_embed target directory)
  file(GLOB files CONFIGURE_DEPENDS ${directory}/*)
  set(header ${CMAKE_CURRENT_BINARY_DIR}/generated/skeletons.h)
  add_custom_command(
    OUTPUT ${header}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${header} "-DFILES=${files}" -P ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${files} ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
    VERBATIM)
  add_custom_target(${target}_skeletons DEPENDS ${header})
  get_target_property(kind ${target} TYPE)
  if(NOT kind STREQUAL "INTERFACE_LIBRARY")
    add_dependencies(${target} ${target}_skeletons)
    target_include_directories(${target} PUBLIC ${CMAKE_CURRENT_BINARY_DIR}/generated)
  endif()
endfunction()
