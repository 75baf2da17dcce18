// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.testing;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.testing.SampleArguments.MissingTypeException;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Parameter;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.BiConsumer;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Calls of the public methods and constructors of types, with one argument of choice. */
public final class PublishedCalls {
  private final SampleArguments samples;
  private final Set<String> withoutInstance = new TreeSet<>();

  public PublishedCalls(SampleArguments samples) {
    this.samples = samples;
  }

  /** Returns the types that a call needed, but of which no object can be made. */
  public Set<String> withoutInstance() {
    return withoutInstance;
  }

  /**
   * Calls each method and constructor of a type once for each chosen parameter, with one argument
   * there and valid ones else: 0 for other chosen numbers.
   *
   * @param outcomes receives the parameter, and the exception or the result as text
   */
  public void withEach(
      Class<?> type,
      Predicate<Parameter> chosen,
      @Nullable Object argument,
      BiConsumer<Parameter, String> outcomes) {
    if (!Modifier.isAbstract(type.getModifiers())) {
      for (Constructor<?> constructor : type.getConstructors()) {
        call(constructor, chosen, argument, constructor::newInstance, outcomes);
      }
    }
    for (Method method : methods(type)) {
      if (Stream.of(method.getParameters()).noneMatch(chosen)) {
        continue;
      }
      if (Modifier.isStatic(method.getModifiers())) {
        call(method, chosen, argument, arguments -> method.invoke(null, arguments), outcomes);
      } else if (!type.isInterface() || !Modifier.isAbstract(method.getModifiers())) {
        @Nullable Object object = samples.instance(type);
        if (object == null) {
          withoutInstance.add(type.getName());
        } else {
          call(method, chosen, argument, arguments -> on(object, method, arguments), outcomes);
        }
      } // others are the user's
    }
  }

  private static @Nullable Object on(Object object, Method method, @Nullable Object[] arguments)
      throws Throwable {
    return Proxy.isProxyClass(object.getClass())
        ? InvocationHandler.invokeDefault(object, method, arguments)
        : method.invoke(object, arguments);
  }

  /** Returns the methods of a type, and those that it inherits from hidden types. */
  private static List<Method> methods(Class<?> type) {
    return Stream.of(type.getMethods())
        .filter(method -> !method.isSynthetic() && !isOfTheJdk(method))
        .filter(
            method ->
                method.getDeclaringClass() == type
                    || !Modifier.isPublic(method.getDeclaringClass().getModifiers()))
        .toList();
  }

  private static boolean isOfTheJdk(Method method) {
    return !method.getDeclaringClass().getName().startsWith("io.torchfeed")
        || (method.getName().equals("equals") && method.getParameterCount() == 1)
        || (method.getName().equals("valueOf") && method.getDeclaringClass().isEnum());
  }

  private void call(
      Executable method,
      Predicate<Parameter> chosen,
      @Nullable Object argument,
      Call call,
      BiConsumer<Parameter, String> outcomes) {
    for (Parameter parameter : method.getParameters()) {
      assertThat(parameter.isNamePresent()).as("names of %s", method).isTrue();
      if (chosen.test(parameter)) {
        try {
          outcomes.accept(parameter, outcome(call, arguments(method, parameter, chosen, argument)));
        } catch (MissingTypeException e) {
          withoutInstance.add(e.getMessage());
        }
      }
    }
  }

  private @Nullable Object[] arguments(
      Executable method, Parameter at, Predicate<Parameter> chosen, @Nullable Object argument) {
    return Stream.of(method.getParameters())
        .map(
            each -> {
              if (argument instanceof Integer number && chosen.test(each)) {
                int index = each.equals(at) ? number : 0;
                return each.getType() == long.class ? (Object) (long) index : (Object) index;
              }
              return each.equals(at) ? argument : samples.of(each.getParameterizedType());
            })
        .toArray();
  }

  /** Returns the name of a method and of a parameter. */
  public static String name(Parameter parameter) {
    Executable method = parameter.getDeclaringExecutable();
    return "%s.%s: %s".formatted(method.getDeclaringClass().getName(), method.getName(), parameter);
  }

  // Whatever the method throws is compared.
  @SuppressWarnings("CatchingUnchecked")
  private static String outcome(Call call, @Nullable Object[] arguments) {
    try {
      return "no exception, but " + call.with(arguments);
    } catch (InvocationTargetException e) {
      return String.valueOf(e.getCause());
    } catch (Throwable e) {
      return e.toString();
    }
  }

  /** A method or constructor that is called by reflection. */
  private interface Call {
    @Nullable Object with(@Nullable Object... arguments) throws Throwable;
  }
}
