// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.testing;

import java.io.IOException;
import java.lang.reflect.Array;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Proxy;
import java.lang.reflect.Type;
import java.lang.reflect.TypeVariable;
import java.lang.reflect.WildcardType;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * An argument of each type of the public API, for tests that call all of its methods. Objects are
 * made once, when they are first needed, and closed with this one.
 */
public final class SampleArguments implements AutoCloseable {
  private static final List<String> FACTORIES = List.of("defaults", "of", "builder", "create");

  private final Map<Class<?>, Callable<?>> table = new HashMap<>();
  private final Map<Class<?>, Object> made = new HashMap<>();
  private final Set<Class<?>> impossible = new HashSet<>();
  private final Deque<AutoCloseable> opened = new ArrayDeque<>();
  private final Path folder;

  public SampleArguments() throws IOException {
    folder = Files.createTempDirectory("arguments");
    new SampleTable(this, folder).fill();
  }

  /** Says how an object of a type is made. */
  <T> void put(Class<T> type, Callable<? extends T> maker) {
    table.put(type, maker);
  }

  <T> T get(Class<T> type) {
    return type.cast(required(type));
  }

  /**
   * Returns an argument of a type.
   *
   * @throws MissingTypeException if none is known
   */
  public Object of(Type type) {
    if (type instanceof ParameterizedType generic) {
      Class<?> raw = (Class<?>) generic.getRawType();
      Type[] of = generic.getActualTypeArguments();
      if (raw == List.class || raw == Collection.class) {
        return List.of(of(of[0]));
      }
      return raw == Map.class ? Map.of(of(of[0]), of(of[1])) : required(raw);
    }
    if (type instanceof WildcardType wildcard) {
      Type[] lower = wildcard.getLowerBounds();
      return of(lower.length > 0 ? lower[0] : wildcard.getUpperBounds()[0]);
    }
    if (type instanceof TypeVariable<?> variable) {
      return of(variable.getBounds()[0]);
    }
    return required((Class<?>) type);
  }

  private Object required(Class<?> type) {
    @Nullable Object value = instance(type);
    if (value == null) {
      throw new MissingTypeException(type);
    }
    return value;
  }

  /** Returns an object of a type; null if none is known. */
  public @Nullable Object instance(Class<?> type) {
    if (!made.containsKey(type) && impossible.add(type)) {
      @Nullable Object value = make(type);
      if (value != null) {
        impossible.remove(type);
        made.put(type, value);
        if (value instanceof AutoCloseable closeable && !Proxy.isProxyClass(value.getClass())) {
          opened.push(closeable);
        }
      }
    }
    return made.get(type);
  }

  private @Nullable Object make(Class<?> type) {
    @Nullable Callable<?> known = table.get(boxed(type));
    if (known != null) {
      try {
        return known.call();
      } catch (Exception e) {
        throw new IllegalStateException("the table cannot make a " + type, e);
      }
    }
    if (type.isArray()) {
      Object array = Array.newInstance(type.getComponentType(), 1);
      Array.set(array, 0, required(type.getComponentType()));
      return array;
    }
    if (type.isEnum()) {
      return type.getEnumConstants()[0];
    }
    if (type.isSealed()) {
      return Stream.of(type.getPermittedSubclasses())
          .map(this::instance)
          .flatMap(Stream::ofNullable)
          .findFirst()
          .orElse(null);
    }
    if (type.isInterface()) {
      return Proxy.newProxyInstance(
          type.getClassLoader(), new Class<?>[] {type}, SampleArguments::answer);
    }
    return byFactory(type).or(() -> byConstructor(type)).orElse(null);
  }

  private static Class<?> boxed(Class<?> type) {
    return type.isPrimitive() ? Array.get(Array.newInstance(type, 1), 0).getClass() : type;
  }

  /** Objects of interfaces answer with 0, false or null. */
  private static @Nullable Object answer(
      Object proxy, Method method, @Nullable Object @Nullable [] arguments) throws Throwable {
    if (method.isDefault()) {
      return InvocationHandler.invokeDefault(proxy, method, arguments);
    }
    if (method.getDeclaringClass() == Object.class) {
      return switch (method.getName()) {
        case "hashCode" -> 1;
        case "equals" -> false;
        default -> "a proxy";
      };
    }
    Class<?> result = method.getReturnType();
    return result.isPrimitive() && result != void.class
        ? Array.get(Array.newInstance(result, 1), 0)
        : null;
  }

  private Optional<Object> byFactory(Class<?> type) {
    return Stream.of(type.getMethods())
        .filter(method -> Modifier.isStatic(method.getModifiers()))
        .filter(method -> FACTORIES.contains(method.getName()) && method.getReturnType() == type)
        .sorted((a, b) -> Integer.compare(a.getParameterCount(), b.getParameterCount()))
        .flatMap(method -> called(method.getGenericParameterTypes(), a -> method.invoke(null, a)))
        .findFirst();
  }

  private Optional<Object> byConstructor(Class<?> type) {
    Stream<Constructor<?>> constructors = Stream.of(type.getConstructors());
    if (type.isRecord()) {
      int components = type.getRecordComponents().length;
      constructors = constructors.filter(each -> each.getParameterCount() == components);
    }
    return constructors
        .filter(each -> !Modifier.isAbstract(type.getModifiers()))
        .flatMap(each -> called(each.getGenericParameterTypes(), each::newInstance))
        .findFirst();
  }

  private Stream<Object> called(Type[] types, Maker maker) {
    try {
      return Stream.of(maker.make(Stream.of(types).map(this::of).toArray()));
    } catch (ReflectiveOperationException | MissingTypeException e) {
      return Stream.empty(); // another way may work, or the caller names the type
    }
  }

  @Override
  public void close() throws Exception {
    while (!opened.isEmpty()) {
      opened.pop().close();
    }
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(file);
      }
    }
  }

  /** Thrown where an argument is needed of a type of which no object can be made. */
  public static final class MissingTypeException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private MissingTypeException(Class<?> type) {
      super(type.getName());
    }
  }

  private interface Maker {
    Object make(Object[] arguments) throws ReflectiveOperationException;
  }
}
