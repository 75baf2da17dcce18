// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.packages;

import static java.util.Objects.requireNonNull;
import static java.util.function.Predicate.not;
import static java.util.stream.Collectors.groupingBy;
import static java.util.stream.Collectors.toCollection;
import static java.util.stream.Collectors.toList;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaModifier;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.NavigableMap;
import java.util.NavigableSet;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/** The packages of torchfeed and their imports, from compiled classes. */
final class PackageGraph {
  /** A package, the number of its files and of its public top-level types. */
  record Node(String name, boolean hidden, long files, long publicTypes) {
    String shortName() {
      return name.replaceFirst("^io\\.torchfeed\\.", "");
    }
  }

  /** Packages that import each other, or a single package; named after the first. */
  record Group(String name, List<Node> nodes) {}

  /** An import of a group by another. */
  record Arrow(String from, String to) {}

  private final NavigableMap<String, Node> nodes = new TreeMap<>();
  private final NavigableMap<String, NavigableSet<String>> imports = new TreeMap<>();

  /** Packages are hidden unless {@code exported} contains them. */
  PackageGraph(JavaClasses classes, Set<String> exported) {
    NavigableMap<String, List<JavaClass>> members =
        classes.stream().collect(groupingBy(JavaClass::getPackageName, TreeMap::new, toList()));
    members.forEach((name, types) -> nodes.put(name, node(name, exported, types)));
    members.forEach((name, types) -> imports.put(name, importsOf(name, types)));
  }

  private static Node node(String name, Set<String> exported, List<JavaClass> types) {
    List<JavaClass> files =
        types.stream()
            .filter(type -> type.isTopLevelClass() && !type.getSimpleName().equals("package-info"))
            .collect(toList());
    long publicTypes =
        files.stream().filter(type -> type.getModifiers().contains(JavaModifier.PUBLIC)).count();
    return new Node(name, !exported.contains(name), files.size(), publicTypes);
  }

  private NavigableSet<String> importsOf(String name, List<JavaClass> types) {
    return types.stream()
        .flatMap(type -> type.getDirectDependenciesFromSelf().stream())
        .map(dependency -> dependency.getTargetClass().getBaseComponentType().getPackageName())
        .filter(nodes::containsKey)
        .filter(not(name::equals))
        .collect(toCollection(TreeSet::new));
  }

  /** Returns the groups in the order of their names. */
  List<Group> groups() {
    return nodes.values().stream()
        .collect(groupingBy(node -> groupOf(node.name()), TreeMap::new, toList()))
        .entrySet()
        .stream()
        .map(entry -> new Group(entry.getKey(), entry.getValue()))
        .collect(toList());
  }

  boolean imports(Node from, Node to) {
    return targets(imports, from.name()).contains(to.name());
  }

  /** Returns the imports between groups without those that a path of other imports implies. */
  List<Arrow> arrowsBetweenGroups() {
    NavigableMap<String, NavigableSet<String>> direct = importsOfGroups();
    return direct.keySet().stream()
        .flatMap(
            from ->
                targets(direct, from).stream()
                    .filter(to -> !isImplied(direct, from, to))
                    .map(to -> new Arrow(from, to)))
        .collect(toList());
  }

  private static boolean isImplied(
      NavigableMap<String, NavigableSet<String>> direct, String from, String to) {
    return targets(direct, from).stream()
        .anyMatch(through -> reachableFrom(direct, through).contains(to));
  }

  private NavigableMap<String, NavigableSet<String>> importsOfGroups() {
    NavigableMap<String, NavigableSet<String>> direct = new TreeMap<>();
    imports.forEach(
        (from, targets) -> {
          String group = groupOf(from);
          NavigableSet<String> into = direct.computeIfAbsent(group, name -> new TreeSet<>());
          targets.stream().map(this::groupOf).filter(not(group::equals)).forEach(into::add);
        });
    return direct;
  }

  /** Returns the first package that imports this one and is imported by it, also indirectly. */
  private String groupOf(String name) {
    return reachableFrom(imports, name).stream()
        .filter(other -> reachableFrom(imports, other).contains(name))
        .findFirst()
        .orElse(name);
  }

  /** Returns all imports, also indirect ones; {@code start} itself only if it is on a cycle. */
  private static NavigableSet<String> reachableFrom(
      NavigableMap<String, NavigableSet<String>> direct, String start) {
    NavigableSet<String> found = new TreeSet<>();
    Deque<String> open = new ArrayDeque<>(targets(direct, start));
    while (!open.isEmpty()) {
      String next = open.pop();
      if (found.add(next)) {
        open.addAll(targets(direct, next));
      }
    }
    return found;
  }

  private static NavigableSet<String> targets(
      NavigableMap<String, NavigableSet<String>> imports, String from) {
    return requireNonNull(imports.get(from), from);
  }
}
