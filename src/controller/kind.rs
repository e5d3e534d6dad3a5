//! The kinds of objects that an Etcd has.

use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{ConfigMap, Service, ServiceAccount};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::core::ApiResource;

/// A kind of object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// What members run as.
    ServiceAccount,
    /// What members may do.
    Role,
    /// Gives it to them.
    RoleBinding,
    /// How members run.
    ConfigMap,
    /// How peers and clients reach them.
    Service,
    /// How many may be evicted.
    PodDisruptionBudget,
    /// The members.
    StatefulSet,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::ServiceAccount,
        Self::Role,
        Self::RoleBinding,
        Self::ConfigMap,
        Self::Service,
        Self::PodDisruptionBudget,
        Self::StatefulSet,
    ];

    /// As the API server's client wants it.
    pub fn api_resource(self) -> ApiResource {
        match self {
            Self::ServiceAccount => ApiResource::erase::<ServiceAccount>(&()),
            Self::Role => ApiResource::erase::<Role>(&()),
            Self::RoleBinding => ApiResource::erase::<RoleBinding>(&()),
            Self::ConfigMap => ApiResource::erase::<ConfigMap>(&()),
            Self::Service => ApiResource::erase::<Service>(&()),
            Self::PodDisruptionBudget => ApiResource::erase::<PodDisruptionBudget>(&()),
            Self::StatefulSet => ApiResource::erase::<StatefulSet>(&()),
        }
    }

    /// As it stands in an object.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ServiceAccount => "ServiceAccount",
            Self::Role => "Role",
            Self::RoleBinding => "RoleBinding",
            Self::ConfigMap => "ConfigMap",
            Self::Service => "Service",
            Self::PodDisruptionBudget => "PodDisruptionBudget",
            Self::StatefulSet => "StatefulSet",
        }
    }

    /// Group and version, as they stand in an object.
    pub const fn api_version(self) -> &'static str {
        match self {
            Self::ServiceAccount | Self::ConfigMap | Self::Service => "v1",
            Self::Role | Self::RoleBinding => "rbac.authorization.k8s.io/v1",
            Self::PodDisruptionBudget => "policy/v1",
            Self::StatefulSet => "apps/v1",
        }
    }

    /// In the words of an RBAC rule.
    pub const fn resource(self) -> &'static str {
        match self {
            Self::ServiceAccount => "serviceaccounts",
            Self::Role => "roles.rbac.authorization.k8s.io",
            Self::RoleBinding => "rolebindings.rbac.authorization.k8s.io",
            Self::ConfigMap => "configmaps",
            Self::Service => "services",
            Self::PodDisruptionBudget => "poddisruptionbudgets.policy",
            Self::StatefulSet => "statefulsets.apps",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_types() {
        for kind in Kind::ALL {
            let resource = kind.api_resource();
            assert_eq!((kind.name(), kind.api_version()), (&*resource.kind, &*resource.api_version));
            let group =
                if resource.group.is_empty() { String::new() } else { format!(".{}", resource.group) };
            assert_eq!(kind.resource(), format!("{}{group}", resource.plural));
        }
    }
}
