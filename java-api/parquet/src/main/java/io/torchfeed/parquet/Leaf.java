// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.parquet;

import dev.hardwood.metadata.LogicalType;
import dev.hardwood.schema.ColumnSchema;
import dev.hardwood.schema.FileSchema;
import dev.hardwood.schema.SchemaNode;
import dev.hardwood.schema.SchemaNode.GroupNode;
import dev.hardwood.schema.SchemaNode.PrimitiveNode;
import io.torchfeed.parquet.ParquetException.Problem;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The leaf of a file's schema that a path names.
 *
 * @param path with the inner groups of lists, as Hardwood names it
 * @param index of the leaf in the file
 * @param isDotted whether a name of the path has a dot
 * @param kind of its values
 * @param lists how many lists are around a value
 * @param scale of decimals
 * @param unit of timestamps
 * @param type for messages
 */
record Leaf(
    String path,
    int index,
    boolean isDotted,
    LeafKind kind,
    int lists,
    int scale,
    LogicalType.@Nullable TimeUnit unit,
    String type) {
  private static final int SHOWN = 50;

  /**
   * Finds a leaf.
   *
   * @throws ParquetException if there is none, or the path names a group
   */
  static Leaf find(String file, FileSchema schema, String path) {
    SchemaNode node = find(schema.getRootNode(), path);
    while (node instanceof GroupNode group && group.isList() && group.getListElement() != null) {
      node = group.getListElement();
    }
    if (node instanceof PrimitiveNode leaf) {
      return of(schema.getColumn(leaf.columnIndex()));
    } else if (node instanceof GroupNode group) {
      throw new ParquetException(
          Problem.SCHEMA,
          "%s: column %s is a group of %s; name one of them, for example %s.%s"
              .formatted(
                  file,
                  path,
                  group.children().stream().map(SchemaNode::name).toList(),
                  path,
                  group.children().get(0).name()));
    }
    throw new ParquetException(
        Problem.SCHEMA,
        "%s must have a column %s, got %s".formatted(file, path, listed(names(schema))));
  }

  private static Leaf of(ColumnSchema column) {
    LogicalType logical = column.logicalType();
    return new Leaf(
        column.fieldPath().toString(),
        column.columnIndex(),
        column.fieldPath().elements().stream().anyMatch(name -> name.indexOf('.') >= 0),
        LeafKind.of(column),
        column.maxRepetitionLevel(),
        logical instanceof LogicalType.DecimalType decimal ? decimal.scale() : 0,
        logical instanceof LogicalType.TimestampType time ? time.unit() : null,
        type(column));
  }

  private static String type(ColumnSchema column) {
    LogicalType logical = column.logicalType();
    String type = column.type().name().toLowerCase(Locale.ROOT);
    return (column.maxRepetitionLevel() > 0 ? "lists of " : "")
        + (logical == null ? type : "%s (%s)".formatted(type, logical));
  }

  /** Names may have dots themselves, so that each child is tried. */
  private static @Nullable SchemaNode find(GroupNode group, String path) {
    for (SchemaNode child : group.children()) {
      if (child.name().equals(path)) {
        return child;
      }
    }
    for (SchemaNode child : group.children()) {
      if (child instanceof GroupNode inner && path.startsWith(child.name() + ".")) {
        SchemaNode found = within(inner, path.substring(child.name().length() + 1));
        if (found != null) {
          return found;
        }
      }
    }
    return null;
  }

  /** Returns a field of a group, or of the elements of a list. */
  private static @Nullable SchemaNode within(GroupNode group, String path) {
    SchemaNode found = find(group, path);
    return found == null && group.isList() && group.getListElement() instanceof GroupNode element
        ? within(element, path)
        : found;
  }

  /** Returns the names of all leaves, lists without their inner groups. */
  static List<String> names(FileSchema schema) {
    return schema.getRootNode().children().stream()
        .flatMap(child -> names(child, child.name()).stream())
        .toList();
  }

  private static List<String> names(SchemaNode node, String path) {
    if (!(node instanceof GroupNode group)) {
      return List.of(path);
    } else if (group.isList() && group.getListElement() != null) {
      return names(group.getListElement(), path);
    }
    return group.children().stream()
        .flatMap(child -> names(child, path + "." + child.name()).stream())
        .toList();
  }

  private static String listed(List<String> names) {
    String shown = names.stream().limit(SHOWN).collect(Collectors.joining(", "));
    return names.size() <= SHOWN ? shown : shown + " and %d more".formatted(names.size() - SHOWN);
  }
}
