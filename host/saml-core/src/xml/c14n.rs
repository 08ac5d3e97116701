//! Exclusive XML Canonicalization 1.0 without comments (<https://www.w3.org/TR/xml-exc-c14n/>).

use super::error::XmlProblem;
use super::escape;
use super::names::XML_URI;
use super::tree::{Attribute, Element, NodeContent};

/// Returns the canonical form of an element, as for a signature.
///
/// `inclusive` are the prefixes of `InclusiveNamespaces` (section 3), including `#default`: they are written at their
/// declaration. `without` is an element to omit, as the transform for enveloped signatures does.
///
/// # Errors
/// [`XmlProblem::TooLong`] if the form exceeds the maximum length of a document. A namespace is repeated for each
/// element that uses it, so the form of a short document can be long.
pub fn canonical(
    element: Element<'_>,
    inclusive: &[&str],
    without: Option<Element<'_>>,
) -> Result<String, XmlProblem> {
    let limit = element.document().limits.bytes;
    let mut form = Canonical {
        out: String::new(),
        limit,
        inclusive,
        without,
        rendered: Vec::new(),
    };
    form.element(element, true)?;
    Ok(form.out)
}

struct Canonical<'d, 'a> {
    out: String,
    limit: usize,
    inclusive: &'a [&'a str],
    without: Option<Element<'a>>,
    /// The namespaces that the enclosing elements already declare in the output, as prefix and URI, the innermost last.
    rendered: Vec<(&'d str, &'d str)>,
}

impl<'d> Canonical<'d, '_> {
    /// Appends an element. The function is recursive, and the reader limits the depth.
    fn element(&mut self, element: Element<'d>, is_apex: bool) -> Result<(), XmlProblem> {
        let outside = self.rendered.len();
        self.out.push('<');
        self.name(element);
        self.namespaces(element, is_apex);
        self.attributes(element);
        self.out.push('>');
        for content in element.content() {
            match content {
                NodeContent::Text(text) => escape::text(&mut self.out, text),
                NodeContent::Element(child)
                    if self.without.is_some_and(|left_out| left_out.is_same(child)) => {}
                NodeContent::Element(child) => self.element(child, false)?,
            }
        }
        self.out.push_str("</");
        self.name(element);
        self.out.push('>');
        self.rendered.truncate(outside);
        if self.out.len() > self.limit {
            Err(XmlProblem::TooLong)
        } else {
            Ok(())
        }
    }

    fn name(&mut self, element: Element<'d>) {
        let prefix = element
            .node
            .namespace
            .as_ref()
            .map_or("", |binding| &binding.prefix);
        self.qualified(prefix, element.local_name());
    }

    fn qualified(&mut self, prefix: &str, local: &str) {
        if !prefix.is_empty() {
            self.out.push_str(prefix);
            self.out.push(':');
        }
        self.out.push_str(local);
    }

    /// Appends the declarations of namespaces that the element visibly uses, or that are inclusive, unless an enclosing
    /// element declares them already.
    fn namespaces(&mut self, element: Element<'d>, is_apex: bool) {
        let mut wanted = vec![("", "")];
        if let Some(own) = &element.node.namespace {
            wanted = vec![(&*own.prefix, &*own.uri)];
        }
        let of_attributes = element
            .node
            .attributes
            .iter()
            .filter_map(|attribute| attribute.namespace.as_ref());
        wanted.extend(of_attributes.map(|binding| (&*binding.prefix, &*binding.uri)));
        for prefix in self.inclusive {
            let prefix = if *prefix == "#default" { "" } else { prefix };
            let binding = match is_apex {
                true => element.binding(prefix),
                false => element
                    .node
                    .declared
                    .iter()
                    .find(|binding| &*binding.prefix == prefix)
                    .map(|found| &**found),
            };
            wanted.extend(binding.map(|binding| (&*binding.prefix, &*binding.uri)));
        }
        wanted.retain(|(_, uri)| *uri != XML_URI);
        wanted.sort_unstable();
        wanted.dedup();
        for (prefix, uri) in wanted {
            let before = self
                .rendered
                .iter()
                .rev()
                .find(|(other, _)| *other == prefix)
                .map_or("", |(_, uri)| uri);
            if before == uri {
                continue;
            }
            self.out.push_str(if prefix.is_empty() {
                " xmlns"
            } else {
                " xmlns:"
            });
            self.out.push_str(prefix);
            self.out.push_str("=\"");
            escape::attribute(&mut self.out, uri);
            self.out.push('"');
            self.rendered.push((prefix, uri));
        }
    }

    /// Appends the attributes, sorted by namespace and then by name. Attributes without a namespace come first.
    fn attributes(&mut self, element: Element<'d>) {
        let mut sorted: Vec<&Attribute> = element.node.attributes.iter().collect();
        sorted.sort_unstable_by_key(|attribute| (attribute.uri(), &*attribute.local));
        for attribute in sorted {
            self.out.push(' ');
            self.qualified(
                attribute
                    .namespace
                    .as_ref()
                    .map_or("", |binding| &binding.prefix),
                &attribute.local,
            );
            self.out.push_str("=\"");
            escape::attribute(&mut self.out, &attribute.value);
            self.out.push('"');
        }
    }
}

#[cfg(test)]
mod tests;
