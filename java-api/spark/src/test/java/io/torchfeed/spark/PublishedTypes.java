// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

import io.torchfeed.spark.job.SparkRanks;
import java.io.IOException;
import java.lang.reflect.Modifier;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The types of this module that users see. */
final class PublishedTypes {
  private static final Pattern HIDDEN =
      Pattern.compile("io\\.torchfeed\\.spark\\.(checkpoint|executor|link|rows)\\.");

  private PublishedTypes() {}

  static List<Class<?>> all() throws IOException, URISyntaxException, ClassNotFoundException {
    Path classes =
        Path.of(SparkRanks.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    List<Class<?>> types = new ArrayList<>();
    try (Stream<Path> files = Files.walk(classes.resolve("io"))) {
      for (Path file : files.filter(each -> each.toString().endsWith(".class")).toList()) {
        String name = classes.relativize(file).toString().replace('/', '.');
        if (HIDDEN.matcher(name).lookingAt()) {
          continue;
        }
        Class<?> type = Class.forName(name.substring(0, name.length() - ".class".length()));
        if (isPublished(type)) {
          types.add(type);
        }
      }
    }
    return types;
  }

  private static boolean isPublished(Class<?> type) {
    return Modifier.isPublic(type.getModifiers())
        && (type.getEnclosingClass() == null || isPublished(type.getEnclosingClass()));
  }
}
